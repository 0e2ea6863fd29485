import type { Command } from 'commander';
import { openApiToWrite } from '../../api/api-client.ts';
import { deleteSubscription } from '../../api/subscriptions.ts';
import { idOf, queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

/** `posthaste subscription delete` */
export function addSubscriptionDelete(subscription: Command, terminal: Terminal): void {
  const command = subscription
    .command('delete')
    .description(
      'Delete a subscription and cancel its open deliveries. Succeeds if there is no such subscription.',
    )
    .argument('<queue>', 'name of the queue', queueOf)
    .argument('<subscription>', 'id of the subscription', idOf)
    .action(async (queue: string, id: string, options: DeploymentOptions) => {
      await deleteSubscription(await openApiToWrite(options, terminal), queue, id);
      if (options.json === true) terminal.printJson({ queue, subscriptionId: id });
      else terminal.print(`Deleted subscription ${printable(id)}.`);
    });
  onDeployment(command, {
    json: 'queue, subscriptionId',
    examples: ['subscription delete orders 5b0c0f1e-7d0c-4a57-9d1a-0f2f3f1c9b11'],
  });
}
