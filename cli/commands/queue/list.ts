import type { Command } from 'commander';
import { openApi } from '../../api/api-client.ts';
import { listQueues, type ListedQueue } from '../../api/queues.ts';
import { commandText } from '../../command-name.ts';
import { wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions & { limit?: number };

/** `posthaste queue list` */
export function addQueueList(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('list')
    .description('List the queues.')
    .option('--limit <N>', 'maximum number of queues (default: all)', wholeNumberOf(1))
    .action(async ({ limit, ...options }: Options) => {
      await printList(terminal, listQueues(await openApi(options, terminal), limit), {
        ...options,
        columns: COLUMNS,
        rowOf,
        none: `No queue yet. Create one with ${commandText('queue create <queue>')}`,
      });
    });
  onDeployment(command, {
    json: 'one queue per line: name, metadata',
    examples: ['queue list', 'queue list --json'],
  });
}

const COLUMNS = [{ head: 'Queue' }, { head: 'Metadata' }];

function rowOf({ name, metadata }: ListedQueue): string[] {
  return [name, printable(JSON.stringify(metadata))];
}
