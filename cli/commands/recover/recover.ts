import { type Command, Option } from 'commander';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { getRecovery, listRecoveries, startRecovery, stopRecovery } from '../../../api-client/operations.ts';
import {
  lostText,
  OUTCOMES_UNKNOWN,
  readOutcomes,
  sumOutcomes,
  timeLeft,
} from '../../../api-client/recovery-progress.ts';
import { orElse } from '../../../api-client/refusal.ts';
import {
  shortId,
  subscriptionLabels,
  type SubscriptionLabels,
} from '../../../api-client/subscription-labels.ts';
import { commandText } from '../../../local/command-name.ts';
import { sumOfCounts } from '../../../shared/domain/delivery/books.ts';
import { RECOVERABLE_STATUSES } from '../../../shared/domain/delivery/vocabulary.ts';
import type { RecoveryOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { recoveryOutcomesView, type RecoveryView } from '../../../shared/wire/views/recovery.ts';
import { resolveSubscription } from '../../api/find-subscription.ts';
import { openApi, openApiToWrite } from '../../api/api-access.ts';
import { removeSettledNotices } from '../../dead-letters/change.ts';
import { INTERRUPTED } from '../../interruption.ts';
import {
  parseId,
  parseQueue,
  parseSubscription,
  parseTime,
  SUBSCRIPTION,
  TIME_FORMS,
  wholeNumber,
} from '../../options/arguments.ts';
import { type DeploymentOptions, onDeployment } from '../../options/deployment-options.ts';
import { fieldLines, printList, tableLines, right } from '../../output/list.ts';
import { printable } from '../../output/printable.ts';
import { withProgress } from '../../output/progress-line.ts';
import { clockTime, grouped } from '../../output/words.ts';
import type { Terminal } from '../../terminal.ts';

type Options = DeploymentOptions &
  Partial<Record<'subscription' | 'status', string>> & { since: number; until?: number; wait?: true };

const MORE = `
Gives each failed delivery of the window's messages one more round of attempts.
Without --status, these are the rejected, exhausted and cancelled ones, except
those that were cancelled manually. The recovery runs in the deployment and
continues when this command ends, also after Ctrl-C during --wait. To stop it,
use posthaste recover stop.

--wait ends with what became of the deliveries, and removes their settled
undeliverable notices, if you may. Exit status: 1 if one failed again, was
skipped or is not on record, or the recovery was stopped, else 0.
`;

/** `posthaste recover start` */
function addRecoverStart(recover: Command, terminal: Terminal): void {
  const command = recover
    .command('start')
    .description('Recover the failed deliveries of a time window.')
    .argument('<queue>', 'name of the queue', parseQueue)
    .requiredOption(
      '--since <TIME>',
      `messages accepted since this time (required): ${TIME_FORMS}`,
      parseTime,
    )
    .option('--until <TIME>', 'messages accepted before this time (default: now)', parseTime)
    .option('--subscription <ID>', `only deliveries to this subscription: ${SUBSCRIPTION}`, parseSubscription)
    .addOption(
      new Option('--status <STATUS>', 'only deliveries with this status').choices(RECOVERABLE_STATUSES),
    )
    .option('--wait', 'wait until the recovery and its deliveries have ended, and show the progress')
    .action(async (queue: string, options: Options) => {
      const { since, until = Date.now(), subscription: given } = options;
      if (until <= since) command.error('error: --until must be after --since');
      const api = await openApiToWrite(options, terminal);
      const started = await api.call(startRecovery, {
        path: { queue },
        body: JSON.stringify({
          since: timeText(since),
          until: timeText(until),
          subscription: given === undefined ? undefined : await resolveSubscription(api, queue, given),
          status: options.status,
        }),
      });
      if (options.wait === true) {
        const exitStatus = await followRecovery(api, started, options, terminal);
        terminal.exitStatus = await removeSettledNotices(exitStatus, started, options, terminal);
        return;
      }
      const status = commandText(`recover status ${queue} ${printable(started.id)} --wait`);
      terminal.printResult(options, started, () =>
        [...recoveryLines(started), `To follow its progress: ${status}`].join('\n'),
      );
    });
  onDeployment(command, {
    json: `${REPORT_JSON}; without --wait the recovery alone`,
    more: MORE,
    examples: [
      'recover start orders --since 6h --wait',
      'recover start orders --since 2d --until 1d --status exhausted',
    ],
  });
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

const COLUMNS = ['Recovery', 'State', 'Accepted since', 'Accepted before', 'Deliveries'];

function formatRow(recovery: RecoveryView): string[] {
  const { id, state, since, until } = recovery;
  return [printable(id), state, clockTime(since), clockTime(until), formatCounts(recovery)];
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
      if (options.wait === true) terminal.exitStatus = await followRecovery(api, recovery, options, terminal);
      else {
        const report = { recovery, outcomes: await readOutcomes(api, recovery) };
        await printReport(report, api, options, terminal);
        terminal.exitStatus = chooseExitStatus(report);
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

/** Seconds. */
const POLLING = { floor: 0.5, ceiling: 10 };

/** Reading the outcomes of many deliveries takes a while and is paid for: most of the time is spent waiting. */
const WAITS_PER_READING = 4;

/**
 * Waits until the recovery and every delivery that it reopened have ended, prints both, and returns the exit status.
 * After an interruption they continue.
 */
async function followRecovery(
  api: ApiClient,
  started: RecoveryView,
  options: DeploymentOptions,
  terminal: Terminal,
): Promise<number> {
  terminal.printError(
    `Recovery ${printable(started.id)}: waiting until every reopened delivery has ended, as long as its retry policy allows. Ctrl-C stops only the waiting.`,
  );
  let last: RecoveryReport = { recovery: started, outcomes: [] };
  const isInterrupted = await withProgress(terminal, (signal, progress) => {
    const look = async (recovery: RecoveryView): Promise<Look> => {
      const at = Date.now();
      const seen = { recovery, outcomes: await readOutcomes(api, recovery, signal), at };
      last = seen;
      return seen;
    };
    const follow = async (): Promise<boolean> => {
      const first = await look(started);
      if (first.outcomes === undefined && !isOver(first))
        terminal.printError(`${OUTCOMES_UNKNOWN} Waiting only until the recovery has ended.`);
      let interval = pollInterval(POLLING);
      for (let seen = first; !isOver(seen);) {
        progress.show(progressText(first, seen));
        const readingMs = Date.now() - seen.at;
        await terminal.sleep(Math.max(interval.wait * 1000, WAITS_PER_READING * readingMs), signal);
        const before = endedIn(seen);
        const path = { queue: started.queue, recovery: started.id };
        seen = await look(await api.call(getRecovery, { path, signal }));
        interval = endedIn(seen) > before ? interval.afterMessage() : interval.afterEmpty();
      }
      return false;
    };
    return follow().catch(orElse(() => signal.aborted, true));
  });
  await printReport(last, api, options, terminal);
  if (!isInterrupted) return chooseExitStatus(last);
  const open = last.outcomes && grouped(sumOutcomes(last.outcomes).open);
  terminal.printError(
    `Stopped waiting: the recovery is ${last.recovery.state}, deliveries still open: ${open ?? 'unknown'}.`,
  );
  return INTERRUPTED;
}

/** 1 if the recovery was stopped, a delivery failed again or was skipped, or what became of one is not known. */
function chooseExitStatus({ recovery, outcomes }: RecoveryReport): number {
  const isProven =
    recovery.state !== 'stopped' &&
    sumOfCounts(recovery.skipped) === 0 &&
    outcomes !== undefined &&
    lostText(recovery, outcomes) === undefined &&
    sumOutcomes(outcomes).failed === 0;
  return isProven ? 0 : 1;
}

/** Progress that makes the next look come sooner. */
function endedIn({ recovery, outcomes }: RecoveryReport): number {
  const { delivered, failed } = sumOutcomes(outcomes ?? []);
  return recovery.found + delivered + failed;
}

/** What a look at a recovery showed. `at`: milliseconds since the epoch. */
export type Look = RecoveryReport & { at: number };

/** Whether nothing that a recovery reopened is open any more; where that is not known, whether the recovery has ended. */
export function isOver({ recovery, outcomes }: RecoveryReport): boolean {
  return recovery.state !== 'running' && sumOutcomes(outcomes ?? []).open === 0;
}

/** A line such as `480 of 1,200 delivered, 20 failed again, about 3 min left`. */
export function progressText(first: Look, last: Look): string {
  const { recovery, outcomes } = last;
  if (outcomes === undefined) return formatCounts(recovery);
  const { total, delivered, failed } = sumOutcomes(outcomes);
  const left =
    recovery.state === 'running'
      ? 'looking for more'
      : timeLeft({ at: first.at, outcomes: first.outcomes ?? [] }, { at: last.at, outcomes });
  return [
    `${grouped(delivered)} of ${grouped(total)} delivered`,
    ...(failed === 0 ? [] : [`${grouped(failed)} failed again`]),
    ...(left === undefined ? [] : [left]),
  ].join(', ');
}

/** A recovery and what became of its deliveries; undefined: not known, because an earlier version ran it. */
type RecoveryReport = { recovery: RecoveryView; outcomes: readonly RecoveryOutcomes[] | undefined };

/** What `--json` prints of a report. */
const REPORT_JSON = 'the recovery, as in the API, with its outcomes per subscription (null: not known)';

async function printReport(
  { recovery, outcomes }: RecoveryReport,
  api: ApiClient,
  options: DeploymentOptions,
  terminal: Terminal,
): Promise<void> {
  const labels = subscriptionLabels(api, recovery.queue);
  const labelled = options.json === true ? [] : (outcomes ?? []).slice(0, MAX_LABELS);
  await labels.load(labelled.map(({ subscriptionId }) => subscriptionId));
  const view = { ...recovery, outcomes: outcomes?.map(recoveryOutcomesView) ?? null };
  terminal.printResult(options, view, () =>
    [...recoveryLines(recovery), ...outcomeLines(recovery, outcomes, labels)].join('\n'),
  );
}

/** Subscriptions whose name or URL is looked up: each may take a request. */
const MAX_LABELS = 100;

function recoveryLines(recovery: RecoveryView): string[] {
  const { id, queue, since, until, subscription, status, state, skipped, updatedAt } = recovery;
  const reasons = Object.entries(skipped).map(([reason, count]) => `${printable(reason)} ${count}`);
  return fieldLines([
    ['Recovery', printable(id)],
    ['Queue', printable(queue)],
    ['Accepted', `${clockTime(since)} to ${clockTime(until)}`],
    ['Subscription', subscription === undefined ? undefined : printable(subscription)],
    ['Status', status === undefined ? undefined : printable(status)],
    ['State', `${state}, updated ${clockTime(updatedAt)}`],
    ['Deliveries', formatCounts(recovery)],
    ['Skipped', reasons.length === 0 ? undefined : reasons.join(', ')],
  ]);
}

function formatCounts({ found, reopened, skipped }: RecoveryView): string {
  return `${found} found, ${reopened} reopened, ${sumOfCounts(skipped)} skipped`;
}

const OUTCOME_COLUMNS = [
  'Subscription',
  'Subscriber',
  right('Total'),
  right('Delivered'),
  right('Failed again'),
  right('Open'),
  'Next attempt',
];

function outcomeLines(
  recovery: RecoveryView,
  outcomes: RecoveryReport['outcomes'],
  labels: SubscriptionLabels,
): string[] {
  if (outcomes === undefined) return ['', OUTCOMES_UNKNOWN];
  const rows = outcomes.map(({ subscriptionId, total, delivered, failed, open, nextAttemptAt }) => [
    printable(shortId(subscriptionId)),
    printable(labels.of(subscriptionId)),
    ...[total, delivered, failed, open].map(String),
    nextAttemptAt === undefined ? '' : clockTime(timeText(nextAttemptAt)),
  ]);
  const lost = lostText(recovery, outcomes);
  return [
    ...(rows.length === 0 ? [] : ['', ...tableLines(OUTCOME_COLUMNS, rows)]),
    ...(lost === undefined ? [] : ['', lost]),
  ];
}
