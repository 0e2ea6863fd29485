import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { deleteQueue } from '../../api/queues.ts';
import { queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';

/** `posthaste queue delete` */
export function addQueueDelete(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('delete')
    .description(
      'Delete a queue and its subscriptions, and cancel their open deliveries. Succeeds if there is no such queue.',
    )
    .argument('<queue>', 'name of the queue', queueOf)
    .action(async (name: string, { json, ...choice }: DeploymentOptions) => {
      await deleteQueue(await openApi(choice, terminal), name);
      if (json === true) terminal.printJson({ queue: name });
      else terminal.print(`Deleted queue ${name}.`);
    });
  onDeployment(command, { json: 'queue', examples: ['queue delete orders'] });
}
