import type { Command } from 'commander';
import { findQueue } from '../../../api-client/queues.ts';
import { noSuchQueue } from '../../api/missing-queue.ts';
import { openApi } from '../../api/open-api.ts';
import { queueOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printableJson } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

/** `posthaste queue show` */
export function addQueueShow(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('show')
    .description('Show the metadata of a queue, including its retry policy.')
    .argument('<queue>', 'name of the queue', queueOf)
    .action(async (name: string, options: DeploymentOptions) => {
      const api = await openApi(options, terminal);
      const metadata = await findQueue(api, name);
      if (metadata === undefined) throw await noSuchQueue(api, name);
      if (options.json === true) terminal.printJson(metadata);
      else terminal.print(printableJson(JSON.stringify(metadata, undefined, 2)));
    });
  onDeployment(command, { json: 'the metadata', examples: ['queue show orders'] });
}
