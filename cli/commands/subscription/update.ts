import type { Command } from 'commander';
import type { SubscriptionView } from '../../../shared/wire/views/subscription.ts';
import { getSubscription, updateSubscription } from '../../../api-client/operations.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { objectText, textOf } from '../../options/json-text.ts';
import type { Terminal } from '../../terminal.ts';
import { printable } from '../../output/printable.ts';
import {
  addCallOptions,
  isAnyGiven,
  optionsText,
  ttlOf,
  withAuth,
  type CallOptions,
} from './call-options.ts';
import { describeSubscription } from './subscription-fields.ts';

type Options = DeploymentOptions &
  CallOptions & { name?: string; url?: string; keepSecret?: true; ttl?: number };

const MORE = `
Only the given settings change; --options replaces all options.

If --url moves the subscription to another host, headers that carry credentials
and auth are removed: give them again. Requests are then signed with a new secret, which
is printed once, unless --keep-secret is given.
`;

/** `posthaste subscription update` */
export function addSubscriptionUpdate(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('update')
    .description('Change a subscription.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<subscription>', SUBSCRIPTION, subscriptionOf)
    .option('--name <NAME>', 'new name; "" removes the name')
    .option('--url <URL>', 'new URL of the subscriber')
    .option('--keep-secret', 'keep the signing secret, even if --url is on another host')
    .option(
      '--ttl <DURATION>',
      'the subscription expires this long after the change: seconds, or 30m, 1h, 2d',
      ttlOf,
    )
    .action(async (queue: string, reference: string, given: Options) => {
      const options = await withAuth(given, terminal);
      const { json, name, url, keepSecret, ttl } = options;
      const isGiven = [name, url, ttl, options.options].some((value) => value !== undefined);
      if (!isGiven && !isAnyGiven(options)) {
        command.error('error: there is nothing to change; add one of the options');
      }
      const api = await openApiToWrite(options, terminal);
      const id = await resolveSubscription(api, queue, reference);
      const before = (): Promise<SubscriptionView> =>
        api.call(getSubscription, { path: { queue, subscription: id } });
      const body = objectText([
        ['name', name === '' ? 'null' : textOf(name)],
        ['subscriber', textOf(url)],
        ['ttl', textOf(ttl)],
        ['options', await changedOptions(options, before)],
        ['secret', keepSecret && textOf('keep')],
      ]);
      const view = await api.call(updateSubscription, { path: { queue, subscription: id }, body });
      if (json === true) terminal.printJson(view);
      else {
        terminal.print(describeSubscription(view));
        if (view.secret !== undefined)
          terminal.print(
            `New signing secret (save it now, it is not shown again): ${printable(view.secret)}`,
          );
      }
    });
  onDeployment(addCallOptions(command), {
    json: 'the subscription after the change',
    more: MORE,
    examples: [
      `subscription update orders 5b0c0f1e --policy '{"maximum_delay": 60}'`,
      'subscription update orders 5b0c0f1e --url https://example.com/other',
    ],
  });
}

/** The API replaces all options, so this reads the current ones and adds the changes. */
async function changedOptions(
  given: CallOptions,
  before: () => Promise<SubscriptionView>,
): Promise<string | undefined> {
  if (given.options !== undefined) return optionsText(given);
  if (!isAnyGiven(given)) return undefined;
  return optionsText(given, JSON.stringify((await before()).options));
}
