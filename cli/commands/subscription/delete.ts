import type { Command } from 'commander';
import { Problem } from '../../../local/install/problem.mjs';
import { getSubscription, unsubscribe } from '../../../api-client/operations.ts';
import { labelOf } from '../../../api-client/subscription-labels.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApiToWrite } from '../../api/open-api.ts';
import { queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { yes?: true };

const MORE = `
The command asks first; without a terminal to ask on, it requires --yes. A
deleted subscription cannot be restored: disable it to stop its requests.
`;

/** `posthaste subscription delete` */
export function addSubscriptionDelete(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('delete')
    .description('Delete a subscription and cancel its open deliveries.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<subscription>', SUBSCRIPTION, subscriptionOf)
    .option('--yes', 'delete the subscription without a question')
    .action(async (queue: string, reference: string, options: Options) => {
      const api = await openApiToWrite(options, terminal);
      const view = await api.call(getSubscription, {
        path: { queue, subscription: await resolveSubscription(api, queue, reference) },
      });
      const { id } = view;
      if (options.yes !== true) {
        const what = `subscription ${printable(id)}, ${printable(labelOf(view))}`;
        const isConfirmed = await terminal.confirm(`Delete ${what}, and cancel its open deliveries?`);
        if (isConfirmed === undefined) return command.error(`error: to delete ${what}, add --yes`);
        if (!isConfirmed) throw new Problem('Nothing was deleted.');
      }
      await api.call(unsubscribe, { path: { queue, subscription: id } });
      if (options.json === true) terminal.printJson({ queue, subscriptionId: id });
      else terminal.print(`Deleted subscription ${printable(id)}, ${printable(labelOf(view))}.`);
    });
  onDeployment(command, {
    json: 'queue, subscriptionId',
    more: MORE,
    examples: ['subscription delete orders 5b0c0f1e', 'subscription delete orders ACME --yes'],
  });
}
