import type { Command } from 'commander';
import { openApiToWrite } from '../../api/api-client.ts';
import { labelOf, resolveSubscription } from '../../api/find-subscription.ts';
import { deleteSubscription, showSubscription } from '../../api/subscriptions.ts';
import { queueOf, SUBSCRIPTION, subscriptionOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

/** `posthaste subscription delete` */
export function addSubscriptionDelete(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('delete')
    .description('Delete a subscription and cancel its open deliveries.')
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<subscription>', SUBSCRIPTION, subscriptionOf)
    .action(async (queue: string, reference: string, options: DeploymentOptions) => {
      const api = await openApiToWrite(options, terminal);
      const view = await showSubscription(api, queue, await resolveSubscription(api, queue, reference));
      const { id } = view;
      await deleteSubscription(api, queue, id);
      if (options.json === true) terminal.printJson({ queue, subscriptionId: id });
      else terminal.print(`Deleted subscription ${printable(id)}, ${printable(labelOf(view))}.`);
    });
  onDeployment(command, {
    json: 'queue, subscriptionId',
    examples: ['subscription delete orders 5b0c0f1e'],
  });
}
