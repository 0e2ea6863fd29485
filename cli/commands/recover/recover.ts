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
import { openApiToWrite } from '../../api/api-access.ts';
import { removeSettledNotices } from '../../dead-letters/change.ts';
import { describeRefusal } from '../../failure-report.ts';
import {
  argument,
  option,
  parseId,
  parseQueue,
  parseSince,
  parseSubscription,
  parseTime,
  QUEUE,
  SUBSCRIPTION,
  TIME_FORMS,
  wholeNumber,
} from '../../options/arguments.ts';
import { deployed, group } from '../../options/deployed.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { printList, tableLines } from '../../output/list.ts';
import { clockTime, printable } from '../../output/text.ts';
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

const WAIT = option('--wait', 'wait until the recovery and its deliveries have ended, and show the progress');

const start = deployed<Options>({
  description: 'Recover the failed deliveries of a time window.',
  arguments: [argument('[queue]', 'name of the queue', parseQueue)],
  options: [
    option('--all-queues', 'recover those of every queue').conflicts('subscription'),
    option(
      '--since <TIME>',
      `messages accepted since this time (required): ${TIME_FORMS}`,
      parseSince,
    ).makeOptionMandatory(),
    option('--until <TIME>', 'messages accepted before this time (default: now)', parseTime),
    option('--by <EVENT>', 'what the two times are of (default: acceptance)').choices(RECOVERY_TIMES),
    option('--subscription <ID>', `only deliveries to this subscription: ${SUBSCRIPTION}`, parseSubscription),
    option('--status <STATUS>', 'only deliveries with this status').choices(RECOVERABLE_STATUSES),
    WAIT,
  ],
  json: `${REPORT_JSON}; without --wait the recovery alone`,
  more: `
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
`,
  examples: [
    'recover start orders --since 6h --wait',
    'recover start --all-queues --since 1h --by failure --wait',
    'recover start orders --since 2d --until 1d --status exhausted',
  ],
  run: async ({ options, terminal, refuse }, queue: string | undefined) => {
    const { since, until = Date.now(), by, status, subscription: given } = options;
    if (until <= since) refuse('--until must be after --since');
    if ((queue === undefined) !== (options.allQueues === true))
      refuse('give the name of a queue, or --all-queues');
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
      return undefined;
    }
    const follow = commandText(`recover status ${queue} ${printable(started.id)} --wait`);
    return [started, () => [...recoveryLines(started), `To follow its progress: ${follow}`].join('\n')];
  },
});

/** Recoveries that are started at a time. */
const SIDE_BY_SIDE = 8;

/** Starts a recovery on each queue. A queue that refuses it does not keep the others from theirs. */
async function startEverywhere(
  api: ApiClient,
  body: string,
  options: Options,
  terminal: Terminal,
): Promise<undefined> {
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
    started.forEach(terminal.printJson);
    return;
  }
  const rows = started.map(({ queue, id }) => [printable(queue), printable(id)]);
  const follow = commandText('recover status QUEUE RECOVERY --wait');
  terminal.print([...tableLines(['Queue', 'Recovery'], rows), `To follow one: ${follow}`].join('\n'));
}

const list = deployed<{ limit?: number }>({
  description: 'List the recoveries of a queue, newest first.',
  arguments: [QUEUE],
  options: [option('--limit <N>', 'maximum number of recoveries (default: all)', wholeNumber(1))],
  json: 'one recovery per line, as in the API',
  examples: ['recover list orders --limit 5'],
  read: async ({ api, options: { limit, ...options }, terminal }, queue) => {
    await printList(terminal, api.list(listRecoveries, { path: { queue }, most: limit }), {
      ...options,
      columns: COLUMNS,
      formatRow,
      none: () => `No recovery yet. Start one with ${commandText('recover start')}`,
    });
  },
});

const COLUMNS = ['Recovery', 'State', 'Times of', 'Since', 'Before', 'Deliveries'];

function formatRow(recovery: RecoveryView): string[] {
  const { id, state, by = 'acceptance', since, until } = recovery;
  return [printable(id), state, by, clockTime(since), clockTime(until), formatCounts([recovery])];
}

const RECOVERY = [QUEUE, argument('<recovery>', 'id of the recovery', parseId)];

const status = deployed<{ wait?: true }>({
  description: 'Show the progress of a recovery, and what became of its deliveries.',
  arguments: RECOVERY,
  options: [WAIT],
  json: REPORT_JSON,
  more: `
Exit status: 1 if a delivery failed again, was skipped or is not on record, or
the recovery was stopped, else 0.
`,
  examples: ['recover status orders 0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10 --wait'],
  read: async ({ api, options, terminal }, queue, id) => {
    const recovery = await api.call(getRecovery, { path: { queue, recovery: id } });
    if (options.wait === true)
      terminal.exitStatus = await followRecoveries(api, [recovery], options, terminal);
    else {
      const report = { recovery, outcomes: await readOutcomes(api, recovery) };
      await printReport(report, api, options, terminal);
      terminal.exitStatus = chooseExitStatus([report]);
    }
  },
});

const stop = deployed({
  description: 'Stop a recovery. Deliveries that it has reopened continue.',
  arguments: RECOVERY,
  json: 'queue, recovery',
  examples: ['recover stop orders 0b8d4c4e-3f0e-4c1e-9a53-7a1b9f7f2c10'],
  write: async ({ api }, queue, recovery) => {
    await api.call(stopRecovery, { path: { queue, recovery } });
    return [{ queue, recovery }, () => `Stopped recovery ${printable(recovery)}.`];
  },
});

export const recoverCommands = group({ start, status, list, stop });
