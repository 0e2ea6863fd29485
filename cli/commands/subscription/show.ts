import type { Command } from 'commander';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { getSubscription } from '../../../api-client/operations.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { shortId } from '../../../api-client/subscription-labels.ts';
import { waitingText } from '../../../api-client/waiting.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApi } from '../../api/open-api.ts';
import { commandText } from '../../../local/command-name.ts';
import { queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { describeSubscription } from './subscription-fields.ts';

/** `posthaste subscription show` */
export function addSubscriptionShow(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('show')
    .description('Show a subscription.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<subscription>', SUBSCRIPTION, subscriptionOf)
    .action(async (queue: string, reference: string, options: DeploymentOptions) => {
      const api = await openApi(options, terminal);
      const view = await api.call(getSubscription, {
        path: { queue, subscription: await resolveSubscription(api, queue, reference) },
      });
      if (options.json === true) {
        terminal.printJson(view);
        return;
      }
      const enable = commandText(`subscription enable ${queue} ${printable(shortId(view.id))}`);
      terminal.print(describeSubscription(view, await waitingIfReadable(api, queue, view.id)));
      if (view.disabled !== undefined) terminal.print(`To enable it: ${enable}`);
      else if (view.backPressure !== undefined) terminal.print(`If it works again: ${enable}`);
    });
  onDeployment(command, {
    json: 'the subscription, as in the API',
    examples: ['subscription show orders 5b0c0f1e'],
  });
}

const FORBIDDEN = 403;

/** A caller that may see subscriptions need not see deliveries. */
async function waitingIfReadable(api: ApiClient, queue: string, id: string): Promise<string | undefined> {
  try {
    return await waitingText(api, queue, id);
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === FORBIDDEN) return undefined;
    throw error;
  }
}
