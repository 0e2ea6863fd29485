import type { ApiClient } from '../../../api-client/api-client.ts';
import { getRecovery, listDeliveries } from '../../../api-client/operations.ts';
import {
  lostText,
  OUTCOMES_UNKNOWN,
  readOutcomes,
  sumOutcomes,
  timeLeft,
} from '../../../api-client/recovery-progress.ts';
import { isForbidden, orElse } from '../../../api-client/refusal.ts';
import {
  shortId,
  subscriptionLabels,
  type SubscriptionLabels,
} from '../../../api-client/subscription-labels.ts';
import { counted } from '../../../api-client/words.ts';
import { commandText } from '../../../local/command-name.ts';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { sumOfCounts } from '../../../shared/domain/delivery/books.ts';
import { isOpenStatus } from '../../../shared/domain/delivery/vocabulary.ts';
import type { RecoveryOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { recoveryOutcomesView, type RecoveryView } from '../../../shared/wire/views/recovery.ts';
import { INTERRUPTED } from '../../interruption.ts';
import type { DeploymentOptions } from '../../options/deployment-options.ts';
import { fieldLines, right, tableLines } from '../../output/list.ts';
import { clockTime, grouped, printable } from '../../output/text.ts';
import { withProgress } from '../../output/progress-line.ts';
import type { Terminal } from '../../terminal.ts';

/** Seconds. */
const POLLING = { floor: 0.5, ceiling: 10 };

/** Reading the outcomes of many deliveries takes a while and is paid for: most of the time is spent waiting. */
const WAITS_PER_READING = 4;

/** Recoveries whose state is read at a time. */
const SIDE_BY_SIDE = 8;

/**
 * Waits until the recoveries and every delivery that they reopened have ended, prints them, and returns the exit status.
 * After an interruption they continue.
 */
export async function followRecoveries(
  api: ApiClient,
  started: readonly RecoveryView[],
  options: DeploymentOptions,
  terminal: Terminal,
): Promise<number> {
  terminal.printError(
    `${whichText(started)}: waiting until every reopened delivery has ended, as long as its retry policy allows. Ctrl-C stops only the waiting.`,
  );
  let reports: readonly RecoveryReport[] = started.map((recovery) => ({ recovery, outcomes: [] }));
  const isInterrupted = await withProgress(terminal, (signal, progress) => {
    const look = async (read: (report: RecoveryReport) => Promise<RecoveryReport>): Promise<Look> => {
      const at = Date.now();
      reports = await inParallel(reports, SIDE_BY_SIDE, read);
      return { reports, at };
    };
    const withOutcomes = async ({ recovery }: Pick<RecoveryReport, 'recovery'>): Promise<RecoveryReport> => {
      return { recovery, outcomes: await readOutcomes(api, recovery, signal) };
    };
    const readAgain = async (report: RecoveryReport): Promise<RecoveryReport> => {
      if (isOver({ reports: [report] })) return report;
      const { queue, id } = report.recovery;
      const recovery = await api.call(getRecovery, { path: { queue, recovery: id }, signal });
      return withOutcomes({ recovery });
    };
    const follow = async (): Promise<boolean> => {
      const first = await look(withOutcomes);
      if (outcomesOf(first) === undefined && !isOver(first))
        terminal.printError(`${OUTCOMES_UNKNOWN} Waiting only until the recovery has ended.`);
      let interval = pollInterval(POLLING);
      for (let seen = first; !isOver(seen);) {
        progress.show(progressText(first, seen));
        const readingMs = Date.now() - seen.at;
        await terminal.sleep(Math.max(interval.wait * 1000, WAITS_PER_READING * readingMs), signal);
        const before = endedIn(seen);
        seen = await look(readAgain);
        interval = endedIn(seen) > before ? interval.afterMessage() : interval.afterEmpty();
      }
      return false;
    };
    return follow().catch(orElse(() => signal.aborted, true));
  });
  await printReports(reports, api, options, terminal);
  if (!isInterrupted) return chooseExitStatus(reports);
  const outcomes = outcomesOf({ reports });
  const open = outcomes && grouped(sumOutcomes(outcomes).open);
  terminal.printError(`Stopped waiting: ${stateText(reports)}, deliveries still open: ${open ?? 'unknown'}.`);
  return INTERRUPTED;
}

function whichText(recoveries: readonly RecoveryView[]): string {
  const [only] = recoveries;
  return recoveries.length === 1 && only !== undefined
    ? `Recovery ${printable(only.id)}`
    : counted(recoveries.length, 'recovery', 'recoveries');
}

function stateText(reports: readonly RecoveryReport[]): string {
  const [only] = reports;
  if (reports.length === 1 && only !== undefined) return `the recovery is ${only.recovery.state}`;
  const running = reports.filter(({ recovery }) => recovery.state === 'running').length;
  return `${running} of ${counted(reports.length, 'recovery is', 'recoveries are')} running`;
}

/** 1 if a recovery was stopped, a delivery failed again or was skipped, or what became of one is not known. */
export function chooseExitStatus(reports: readonly RecoveryReport[]): number {
  return reports.every(isProven) ? 0 : 1;
}

function isProven({ recovery, outcomes }: RecoveryReport): boolean {
  return (
    recovery.state !== 'stopped' &&
    sumOfCounts(recovery.skipped) === 0 &&
    outcomes !== undefined &&
    lostText(recovery, outcomes) === undefined &&
    sumOutcomes(outcomes).failed === 0
  );
}

/** Progress that makes the next look come sooner. */
function endedIn(look: Look): number {
  const { delivered, failed } = sumOutcomes(look.reports.flatMap(({ outcomes }) => outcomes ?? []));
  return look.reports.reduce((sum, { recovery }) => sum + recovery.found, delivered + failed);
}

/** A recovery and what became of its deliveries; undefined: not known, because an earlier version ran it. */
type RecoveryReport = { recovery: RecoveryView; outcomes: readonly RecoveryOutcomes[] | undefined };

/** What a look at recoveries showed. `at`: milliseconds since the epoch. */
export type Look = { reports: readonly RecoveryReport[]; at: number };

/** Whether nothing that a recovery reopened is open any more; where that is not known, whether the recovery has ended. */
export function isOver({ reports }: Pick<Look, 'reports'>): boolean {
  return reports.every(
    ({ recovery, outcomes }) => recovery.state !== 'running' && sumOutcomes(outcomes ?? []).open === 0,
  );
}

/** Undefined: those of a recovery are not known. */
function outcomesOf({ reports }: Pick<Look, 'reports'>): readonly RecoveryOutcomes[] | undefined {
  const isKnown = reports.every(({ outcomes }) => outcomes !== undefined);
  return isKnown ? reports.flatMap(({ outcomes }) => outcomes ?? []) : undefined;
}

/** A line such as `480 of 1,200 delivered, 20 failed again, about 3 min left`. */
export function progressText(first: Look, last: Look): string {
  const outcomes = outcomesOf(last);
  if (outcomes === undefined) return formatCounts(last.reports.map(({ recovery }) => recovery));
  const { total, delivered, failed } = sumOutcomes(outcomes);
  const left = last.reports.some(({ recovery }) => recovery.state === 'running')
    ? 'looking for more'
    : timeLeft({ at: first.at, outcomes: outcomesOf(first) ?? [] }, { at: last.at, outcomes });
  return [
    `${grouped(delivered)} of ${grouped(total)} delivered`,
    ...(failed === 0 ? [] : [`${grouped(failed)} failed again`]),
    ...(left === undefined ? [] : [left]),
  ].join(', ');
}

/** What `--json` prints of a report. */
export const REPORT_JSON =
  'the recovery, as in the API, with its outcomes per subscription (null: not known)';

/** Prints one recovery with the outcomes of each subscription; of several, a line for each queue and their sum. */
async function printReports(
  reports: readonly RecoveryReport[],
  api: ApiClient,
  options: DeploymentOptions,
  terminal: Terminal,
): Promise<void> {
  const [only] = reports;
  if (reports.length === 1 && only !== undefined) return printReport(only, api, options, terminal);
  if (options.json !== true) terminal.print(summaryLines(reports).join('\n'));
  else reports.map(toJson).forEach(terminal.printJson);
}

export async function printReport(
  { recovery, outcomes }: RecoveryReport,
  api: ApiClient,
  options: DeploymentOptions,
  terminal: Terminal,
): Promise<void> {
  const labels = subscriptionLabels(api, recovery.queue);
  const labelled = options.json === true ? [] : (outcomes ?? []).slice(0, MAX_LABELS);
  await labels.load(labelled.map(({ subscriptionId }) => subscriptionId));
  const left = options.json === true || !isWithoutEffect(recovery) ? [] : await leftLines(api, recovery);
  terminal.printResult(options, toJson({ recovery, outcomes }), () =>
    [
      ...recoveryLines(recovery),
      ...outcomeLines(recovery, outcomes, labels),
      ...adviceLines(recovery),
      ...left,
    ].join('\n'),
  );
}

function isWithoutEffect({ state, found }: RecoveryView): boolean {
  return state === 'completed' && found === 0;
}

/** One page. */
const MAX_OPEN = 100;

/** Names what a recovery that found nothing left: what is not ended, or was delivered. */
async function leftLines(
  api: ApiClient,
  { queue, since, until, by, subscription }: RecoveryView,
): Promise<string[]> {
  const window = by === 'failure' ? {} : { since, until };
  const query = { ...window, subscription };
  const { items, more } = await api
    .items(listDeliveries, { path: { queue }, query, most: MAX_OPEN })
    .catch(orElse(isForbidden, { items: [], more: false }));
  const open = items.filter(({ status }) => isOpenStatus(status));
  const next = open.flatMap(({ nextAttemptAt }) => nextAttemptAt ?? []).toSorted()[0];
  const due = next === undefined ? '' : `, the next attempt is due at ${clockTime(next)}`;
  const count = `${more ? 'at least ' : ''}${counted(open.length, 'delivery is', 'deliveries are')} open${due}.`;
  return [
    '',
    'It found nothing that had failed. A recovery leaves alone what is open or was delivered.',
    ...(open.length === 0 ? [] : [count]),
    `To send one of them at once: ${commandText(`retry ${queue} MESSAGE SUBSCRIPTION`)}`,
  ];
}

/** What to do about the deliveries that were skipped, for each reason. */
function adviceLines({ skipped }: RecoveryView): string[] {
  const lines = Object.keys(skipped).map((reason) => `${printable(reason)}: ${SKIP_ADVICE[reason] ?? AGAIN}`);
  return lines.length === 0 ? [] : ['', ...lines];
}

const PUBLISH = 'publish the message again under a new id.';
const AGAIN = 'it could not be reopened at that time. Start the recovery again.';

const SKIP_ADVICE: Readonly<Record<string, string>> = {
  subscription_absent:
    'the subscription is deleted, disabled, expired or not confirmed. Enable it and start the recovery again, or send ' +
    `each message to another one while its data is kept: ${commandText('send QUEUE MESSAGE --to SUBSCRIPTION')}`,
  body_gone: `the data of the message is not kept: ${PUBLISH}`,
  message_expired: `the ttl of the message has expired: ${PUBLISH}`,
  too_many_attempts: `the record has no room for more attempts: ${PUBLISH}`,
  open: 'it was retried meanwhile, and is open again.',
};

function toJson({ recovery, outcomes }: RecoveryReport) {
  return { ...recovery, outcomes: outcomes?.map(recoveryOutcomesView) ?? null };
}

const SUMMARY_COLUMNS = [
  'Queue',
  'Recovery',
  'State',
  ...['Found', 'Reopened', 'Skipped', 'Delivered', 'Failed again', 'Open'].map(right),
];

/** A line for each queue with a failed delivery, and their sum. */
function summaryLines(reports: readonly RecoveryReport[]): string[] {
  const eventful = reports.filter(({ recovery }) => recovery.found > 0 || recovery.state !== 'completed');
  const figures = eventful.map(({ recovery: { found, reopened, skipped }, outcomes }) => {
    const { delivered, failed, open } = sumOutcomes(outcomes ?? []);
    return [found, reopened, sumOfCounts(skipped), delivered, failed, open];
  });
  const sums = SUMMARY_COLUMNS.slice(3).map((_, at) => figures.reduce((sum, row) => sum + (row[at] ?? 0), 0));
  const rows = eventful.map(({ recovery: { queue, id, state } }, index) => [
    printable(queue),
    printable(id),
    state,
    ...(figures[index] ?? []).map(grouped),
  ]);
  const queues = counted(reports.length, 'queue', 'queues');
  if (rows.length === 0) return [`Nothing to recover on ${queues}.`];
  return [
    ...tableLines(SUMMARY_COLUMNS, [...rows, [`All ${queues}`, '', '', ...sums.map(grouped)]]),
    ...(outcomesOf({ reports }) === undefined ? ['', OUTCOMES_UNKNOWN] : []),
  ];
}

/** Subscriptions whose name or URL is looked up: each may take a request. */
const MAX_LABELS = 100;

export function recoveryLines(recovery: RecoveryView): string[] {
  const { id, queue, since, until, by, subscription, status, state, skipped, updatedAt } = recovery;
  const reasons = Object.entries(skipped).map(([reason, count]) => `${printable(reason)} ${count}`);
  return fieldLines([
    ['Recovery', printable(id)],
    ['Queue', printable(queue)],
    [by === 'failure' ? 'Failed' : 'Accepted', `${clockTime(since)} to ${clockTime(until)}`],
    ['Subscription', subscription === undefined ? undefined : printable(subscription)],
    ['Status', status === undefined ? undefined : printable(status)],
    ['State', `${state}, updated ${clockTime(updatedAt)}`],
    ['Deliveries', formatCounts([recovery])],
    ['Skipped', reasons.length === 0 ? undefined : reasons.join(', ')],
  ]);
}

export function formatCounts(recoveries: readonly RecoveryView[]): string {
  const sum = (count: (recovery: RecoveryView) => number): number =>
    recoveries.reduce((before, recovery) => before + count(recovery), 0);
  const skipped = sum((recovery) => sumOfCounts(recovery.skipped));
  return `${sum(({ found }) => found)} found, ${sum(({ reopened }) => reopened)} reopened, ${skipped} skipped`;
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
