import { type Command, Option } from 'commander';
import type { ApiClient } from '../../../api-client/api-client.ts';
import {
  getRecovery,
  listQueues,
  listRecoveries,
  startRecovery,
  stopRecovery,
} from '../../../api-client/operations.ts';
import { readOutcomes } from '../../../api-client/recovery-progress.ts';
import { isRefusal } from '../../../api-client/refusal.ts';
import { commandText } from '../../../local/command-name.ts';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { RECOVERABLE_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import { RECOVERY_TIMES, type RecoveryTime } from '../../../shared/domain/recovery/recovery.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { RecoveryView } from '../../../shared/wire/views/recovery.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApi, openApiToWrite } from '../../api/api-access.ts';
import { removeSettledNotices } from '../../dead-letters/change.ts';
import { describeRefusal } from '../../failure-report.ts';
import {
  parseId,
  parseQueue,
  parseSince,
  parseSubscription,
  parseTime,
  SUBSCRIPTION,
  TIME_FORMS,
  wholeNumber,
} from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { printList, tableLines } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import { clockTime } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';
import {
  chooseExitStatus,
  followRecoveries,
  formatCounts,
  printReport,
  recoveryLines,
  REPORT_JSON,
} from './follow.ts';

type Options = DeploymentOptions &
  Partial<Record<'subscription' | 'status', string>> &
  Partial<Record<'allQueues' | 'wait', true>> & { since: number; until?: number; by?: RecoveryTime };

const MORE = `
Gives each failed delivery of the window's messages one more round of attempts.
Without --status, these are the rejected, exhausted and cancelled ones, except
those that were cancelled manually. The recovery runs in the deployment and
continues when this command ends, also after Ctrl-C during --wait. To stop it,
use posthaste recover stop.

With --by failure the window is of the times at which the deliveries ended, of
all messages that the queue still keeps. With --all-queues each queue gets a
recovery; a queue that refuses it is named, and the others are recovered.

--wait ends with what became of the deliveries, and removes their settled
undeliverable notices, if you may. Exit status: 1 if one failed again, was
skipped or is not on record, the recovery was stopped, or a queue refused it,
else 0.
`;

/** `posthaste recover start` */
function addRecoverStart(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('start')
    .description('Recover the failed deliveries of a time window.')
    .argument('[queue]', 'name of the queue', parseQueue)
    .addOption(new Option('--all-queues', 'recover those of every queue').conflicts('subscription'))
    .requiredOption(
      '--since <TIME>',
      `messages accepted since this time (required): ${TIME_FORMS}`,
      parseSince,
    )
    .option('--until <TIME>', 'messages accepted before this time (default: now)', parseTime)
    .addOption(
      new Option('--by <EVENT>', 'what the two times are of (default: acceptance)').choices(RECOVERY_TIMES),
    )
    .option('--subscription <ID>', `only deliveries to this subscription: ${SUBSCRIPTION}`, parseSubscription)
    .addOption(
      new Option('--status <STATUS>', 'only deliveries with this status').choices(RECOVERABLE_STATUSES),
    )
    .option('--wait', 'wait until the recovery and its deliveries have ended, and show the progress')
    .action(async (queue: string | undefined, options: Options) => {
      const { since, until = Date.now(), by, status, subscription: given } = options;
      if (until <= since) command.error('error: --until must be after --since');
      if ((queue === undefined) !== (options.allQueues === true))
        command.error('error: give the name of a queue, or --all-queues');
      const api = await openApiToWrite(options, terminal);
      const subscription =
        given === undefined || queue === undefined ? undefined : await resolveSubscription(api, queue, given);
      const selection = { since: timeText(since), until: timeText(until), by, subscription, status };
      const body = JSON.stringify(selection);
      if (queue === undefined) return startEverywhere(api, body, options, terminal);
      const started = await api.call(startRecovery, { path: { queue }, body });
      if (options.wait === true) {
        const exitStatus = await followRecoveries(api, [started], options, terminal);
        terminal.exitStatus = await removeSettledNotices(exitStatus, started, options, terminal);
        return;
      }
      const follow = commandText(`recover status ${queue} ${printable(started.id)} --wait`);
      terminal.printResult(options, started, () =>
        [...recoveryLines(started), `To follow its progress: ${follow}`].join('\n'),
      );
    });
  onDeployment(command, {
    json: `${REPORT_JSON}; without --wait the recovery alone`,
    more: MORE,
    examples: [
      'recover start orders --since 6h --wait',
      'recover start --all-queues --since 1h --by failure --wait',
      'recover start orders --since 2d --until 1d --status exhausted',
    ],
  });
}

/** Recoveries that are started at a time. */
const SIDE_BY_SIDE = 8;

/** Starts a recovery on each queue. A queue that refuses it does not keep the others from theirs. */
async function startEverywhere(
  api: ApiClient,
  body: string,
  options: Options,
  terminal: Terminal,
): Promise<void> {
  const { items: queues } = await api.items(listQueues, { most: Infinity });
  const answers = await inParallel(queues, SIDE_BY_SIDE, ({ name: queue }) =>
    api.call(startRecovery, { path: { queue }, body }).catch((error: unknown) => {
      if (!isRefusal(error)) throw error;
      terminal.printError(`Queue ${queue} is not recovered: ${printable(describeRefusal(error).detail)}`);
      return undefined;
    }),
  );
  const started = answers.filter((answer) => answer !== undefined);
  const [first] = started;
  const refused = started.length < queues.length ? 1 : 0;
  if (first === undefined) {
    terminal.printError('No recovery was started.');
    terminal.exitStatus = refused;
  } else if (options.wait === true) {
    const exitStatus = await followRecoveries(api, started, options, terminal);
    const ofAll = { ...first, queue: undefined };
    const settled = await removeSettledNotices(exitStatus, ofAll, options, terminal);
    terminal.exitStatus = Math.max(settled, refused);
  } else {
    printStarted(started, options, terminal);
    terminal.exitStatus = refused;
  }
}

function printStarted(started: readonly RecoveryView[], options: Options, terminal: Terminal): void {
  if (options.json === true) {
    for (const recovery of started) terminal.printResult(options, recovery, () => '');
    return;
  }
  const rows = started.map(({ queue, id }) => [printable(queue), printable(id)]);
  const follow = commandText('recover status QUEUE RECOVERY --wait');
  terminal.print([...tableLines(['Queue', 'Recovery'], rows), `To follow one: ${follow}`].join('\n'));
}

/** `posthaste recover list` */
function addRecoverList(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('list')
    .description('List the recoveries of a queue, newest first.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .option('--limit <N>', 'maximum number of recoveries (default: all)', wholeNumber(1))
    .action(async (queue: string, { limit, ...options }: DeploymentOptions & { limit?: number }) => {
      const api = await openApi(options, terminal);
      await printList(terminal, api.list(listRecoveries, { path: { queue }, most: limit }), {
        ...options,
        columns: COLUMNS,
        formatRow,
        none: () => `No recovery yet. Start one with ${commandText('recover start')}`,
      });
    });
  onDeployment(command, {
    json: 'one recovery per line, as in the API',
    examples: ['recover list orders --limit 5'],
  });
}

const COLUMNS = ['Recovery', 'State', 'Times of', 'Since', 'Before', 'Deliveries'];

function formatRow(recovery: RecoveryView): string[] {
  const { id, state, by = 'acceptance', since, until } = recovery;
  return [printable(id), state, by, clockTime(since), clockTime(until), formatCounts([recovery])];
}

export function addRecoverCommands(recover: Command, terminal: Terminal): void {
  addRecoverStart(recover, terminal);
  addRecoverStatus(recover, terminal);
  addRecoverList(recover, terminal);
  addRecoverStop(recover, terminal);
}

const STATUS_MORE = `
Exit status: 1 if a delivery failed again, was skipped or is not on record, or
the recovery was stopped, else 0.
`;

/** `posthaste recover status` */
function addRecoverStatus(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('status')
    .description('Show the progress of a recovery, and what became of its deliveries.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .argument('<recovery>', 'id of the recovery', parseId)
    .option('--wait', 'wait until the recovery and its deliveries have ended, and show the progress')
    .action(async (queue: string, id: string, options: DeploymentOptions & { wait?: true }) => {
      const api = await openApi(options, terminal);
      const recovery = await api.call(getRecovery, { path: { queue, recovery: id } });
      if (options.wait === true)
        terminal.exitStatus = await followRecoveries(api, [recovery], options, terminal);
      else {
        const report = { recovery, outcomes: await readOutcomes(api, recovery) };
        await printReport(report, api, options, terminal);
        terminal.exitStatus = chooseExitStatus([report]);
      }
    });
  onDeployment(command, {
    json: REPORT_JSON,
    more: STATUS_MORE,
    examples: ['recover status orders 0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10 --wait'],
  });
}

/** `posthaste recover stop` */
function addRecoverStop(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('stop')
    .description('Stop a recovery. Deliveries that it has reopened continue.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .argument('<recovery>', 'id of the recovery', parseId)
    .action(async (queue: string, id: string, options: DeploymentOptions) => {
      await (await openApiToWrite(options, terminal)).call(stopRecovery, { path: { queue, recovery: id } });
      terminal.printResult(options, { queue, recovery: id }, () => `Stopped recovery ${printable(id)}.`);
    });
  onDeployment(command, {
    json: 'queue, recovery',
    examples: ['recover stop orders 0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10'],
  });
}
