import type { Command } from 'commander';
import { listArchivedQueues, restoreQueue } from '../../../api-client/operations.ts';
import { findQueue } from '../../../api-client/queues.ts';
import { isRefusal } from '../../../api-client/refusal.ts';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import { openApi, openApiToWrite } from '../../api/api-access.ts';
import { parseQueue, parseTime } from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printList } from '../../output/list.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';

const MORE = `
Without a queue, the command lists the deleted queues that can be restored, and
until when (setting archiveDays). A restored queue has its subscriptions again,
with their ids and secrets. What the deletion cancelled is not sent by itself:
recover start sends it.
`;

type RestoreOptions = DeploymentOptions & { until?: number };

/** `posthaste queue restore` */
export function addQueueRestore(queue: Command, terminal: Terminal): void {
  const command = queue
    .command('restore')
    .description('Restore a deleted queue with its subscriptions, or list what can be restored.')
    .argument('[queue]', 'name of the deleted queue', parseQueue)
    .option('--until <TIME>', 'undo the last deletion up to this time (default: the last one)', parseTime)
    .action(async (name: string | undefined, options: RestoreOptions) => {
      if (name === undefined) await listRestorable(options, terminal);
      else await restore(name, options, terminal);
    });
  onDeployment(command, {
    json: 'name, state; in a list one queue per line: name, deletedAt, restorableUntil',
    more: MORE,
    examples: ['queue restore', 'queue restore orders'],
  });
}

async function listRestorable(options: DeploymentOptions, terminal: Terminal): Promise<void> {
  const api = await openApi(options, terminal);
  await printList(terminal, api.list(listArchivedQueues, {}), {
    ...options,
    columns: ['Queue', 'Deleted at', 'Restorable until'],
    formatRow: ({ name, deletedAt, restorableUntil }) => [
      name,
      clockTime(deletedAt),
      clockTime(restorableUntil),
    ],
    none: () => 'No deleted queue can be restored.',
  });
}

async function restore(
  name: string,
  { until, ...options }: RestoreOptions,
  terminal: Terminal,
): Promise<void> {
  const api = await openApiToWrite(options, terminal);
  // The list shows whole seconds.
  const body = until === undefined ? {} : { until: new Date(until + 999).toISOString() };
  const restored = await api
    .call(restoreQueue, { path: { queue: name }, body })
    .catch(async (error: unknown) => {
      const isTaken = isRefusal(error) && error.code === 'conflict' && (await findQueue(api, name));
      throw isTaken ? queueExists(name, error) : error;
    });
  terminal.printResult(options, restored, () => {
    const result =
      restored.state === 'restored'
        ? `Restored queue ${name} with its subscriptions.`
        : `Queue ${name} has many subscriptions. It appears once all are back: ${commandText(`queue show ${name}`)}`;
    return `${result}\nTo send what the deletion cancelled: ${commandText(`recover start ${name} --since 7d`)}`;
  });
}

function queueExists(name: string, cause: unknown): Problem {
  const advice = `To restore the deleted one, delete this one for good: ${commandText(`queue delete ${name} --now`)}`;
  return new Problem(`Queue ${name} exists. ${advice}`, { cause });
}
