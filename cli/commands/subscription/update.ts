import type { Command } from 'commander';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { openApi } from '../../api/api-client.ts';
import { showSubscription, updateSubscription } from '../../api/subscriptions.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { objectText, textOf } from '../../options/json-text.ts';
import type { Terminal } from '../../terminal.ts';
import { printable } from '../../output/printable.ts';
import { addHowToCall, isSaid, optionsText, ttlOf, type HowToCall } from './how-to-call.ts';
import { describeSubscription } from './subscription-fields.ts';

type Options = DeploymentOptions & HowToCall & { url?: string; keepSecret?: true; ttl?: number };

const MORE = `
What is not given stays as it is. With --options they are replaced as a whole.

A URL at another host gets none of the headers with credentials: give them again with it. Its requests are signed with a new secret,
which is shown this once, unless --keep-secret is given.
`;

/** `posthaste subscription update` */
export function addSubscriptionUpdate(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('update')
    .description('Change a subscription.')
    .argument('<queue>', 'its queue', queueOf)
    .argument('<subscription>', 'its id', idOf)
    .option('--url <URL>', 'another subscriber')
    .option('--keep-secret', 'sign with the same secret, also if --url is at another host')
    .option('--ttl <TIME>', 'for so long only: seconds, or 30m, 1h, 2d', ttlOf)
    .action(async (queue: string, id: string, { json, url, keepSecret, ttl, ...options }: Options) => {
      if (url === undefined && ttl === undefined && options.options === undefined && !isSaid(options)) {
        command.error('error: nothing to change: give one of the options');
      }
      const api = await openApi(options, terminal);
      const before = (): Promise<SubscriptionView> => showSubscription(api, queue, id);
      const body = objectText([
        ['subscriber', textOf(url)],
        ['ttl', textOf(ttl)],
        ['options', await changedOptions(options, before)],
        ['secret', keepSecret && textOf('keep')],
      ]);
      const view = await updateSubscription(api, queue, id, body);
      if (json === true) terminal.printJson(view);
      else {
        terminal.print(describeSubscription(view));
        if (view.secret !== undefined)
          terminal.print(`Its new secret, which is not shown again: ${printable(view.secret)}`);
      }
    });
  onDeployment(addHowToCall(command), {
    json: 'the subscription as it is then',
    more: MORE,
    examples: [
      `subscription update orders 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11 --policy '{"maximum_delay": 60}'`,
      'subscription update orders 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11 --url https://example.com/other',
    ],
  });
}

/** The API replaces options as a whole, so those that are there go along. */
async function changedOptions(
  how: HowToCall,
  before: () => Promise<SubscriptionView>,
): Promise<string | undefined> {
  if (how.options !== undefined) return optionsText(how);
  if (!isSaid(how)) return undefined;
  return optionsText(how, JSON.stringify((await before()).options));
}
