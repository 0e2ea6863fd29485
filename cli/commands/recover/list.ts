import type { Command } from 'commander';
import type { RecoveryView } from '../../../shared/wire/views/recovery.ts';
import { listRecoveries } from '../../../api-client/operations.ts';
import { openApi } from '../../api/open-api.ts';
import { commandText } from '../../../local/command-name.ts';
import { queueOf, wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, type DeploymentOptions } from '../../options/deployment-options.ts';
import { clockTime } from '../../output/time-text.ts';
import { printList } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import type { Terminal } from '../../terminal.ts';
import { countsOf } from './recovery-text.ts';

type Options = DeploymentOptions & { limit?: number };

/** `posthaste recover list` */
export function addRecoverList(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('list')
    .description('List the recoveries of a queue, newest first.')
    .argument('<queue>', 'name of the queue', queueOf)
    .option('--limit <N>', 'maximum number of recoveries (default: all)', wholeNumberOf(1))
    .action(async (queue: string, { limit, ...options }: Options) => {
      const recoveries = (await openApi(options, terminal)).list(listRecoveries, {
        path: { queue },
        most: limit,
      });
      await printList(terminal, recoveries, {
        ...options,
        columns: COLUMNS,
        rowOf,
        none: `No recovery yet. Start one with ${commandText('recover start')}`,
      });
    });
  onDeployment(command, {
    json: 'one recovery per line, as in the API',
    examples: ['recover list orders --limit 5'],
  });
}

const COLUMNS = [
  { head: 'Recovery' },
  { head: 'State' },
  { head: 'Accepted since' },
  { head: 'Accepted before' },
  { head: 'Deliveries' },
];

function rowOf(recovery: RecoveryView): string[] {
  return [
    printable(recovery.id),
    recovery.state,
    clockTime(recovery.since),
    clockTime(recovery.until),
    countsOf(recovery),
  ];
}
