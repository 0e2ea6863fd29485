import type { ApiClient } from '../../../api-client/api-client.ts';
import { getRecovery } from '../../../api-client/operations.ts';
import { orElse } from '../../../api-client/refusal.ts';
import {
  lostText,
  OUTCOMES_UNKNOWN,
  readOutcomes,
  timeLeft,
  totalOf,
} from '../../../api-client/recovery-progress.ts';
import {
  shortId,
  subscriptionLabels,
  type SubscriptionLabels,
} from '../../../api-client/subscription-labels.ts';
import type { RecoveryOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { recoveryOutcomesView, type RecoveryView } from '../../../shared/wire/views/recovery.ts';
import { INTERRUPTED } from '../../interruption.ts';
import { sumOf, clockTime } from '../../output/words.ts';
import { printable } from '../../output/printable.ts';
import { withProgress } from '../../output/progress-line.ts';
import { fieldLines, tableLines } from '../../output/list.ts';
import type { Terminal } from '../../terminal.ts';

/** Seconds. */
const POLLING = { floor: 0.5, ceiling: 10 };

/** Reading the outcomes of many deliveries takes a while and is paid for: most of the time is spent waiting. */
const WAITS_PER_READING = 4;

/**
 * Waits until the recovery and every delivery that it reopened have ended, prints both, and returns the exit status.
 * After an interruption they continue.
 */
export async function followRecovery(
  api: ApiClient,
  started: RecoveryView,
  json: boolean,
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
  await printReport(last, api, json, terminal);
  if (!isInterrupted) return exitStatusOf(last);
  const open = last.outcomes && totalOf(last.outcomes).open.toLocaleString('en');
  terminal.printError(
    `Stopped waiting: the recovery is ${last.recovery.state}, deliveries still open: ${open ?? 'unknown'}.`,
  );
  return INTERRUPTED;
}

/** 1 if the recovery was stopped, a delivery failed again or was skipped, or what became of one is not known. */
export function exitStatusOf({ recovery, outcomes }: RecoveryReport): number {
  const isProven =
    recovery.state !== 'stopped' &&
    sumOf(recovery.skipped) === 0 &&
    outcomes !== undefined &&
    lostText(recovery, outcomes) === undefined &&
    totalOf(outcomes).failed === 0;
  return isProven ? 0 : 1;
}

/** Progress that makes the next look come sooner. */
function endedIn({ recovery, outcomes }: RecoveryReport): number {
  const { delivered, failed } = totalOf(outcomes ?? []);
  return recovery.found + delivered + failed;
}

/** What a look at a recovery showed. `at`: milliseconds since the epoch. */
export type Look = RecoveryReport & { at: number };

/** Whether nothing that a recovery reopened is open any more; where that is not known, whether the recovery has ended. */
export function isOver({ recovery, outcomes }: RecoveryReport): boolean {
  return recovery.state !== 'running' && totalOf(outcomes ?? []).open === 0;
}

/** A line such as `480 of 1,200 delivered, 20 failed again, about 3 min left`. */
export function progressText(first: Look, last: Look): string {
  const { recovery, outcomes } = last;
  if (outcomes === undefined) return countsOf(recovery);
  const { total, delivered, failed } = totalOf(outcomes);
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

function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** A recovery and what became of its deliveries; undefined: not known, because an earlier version ran it. */
type RecoveryReport = { recovery: RecoveryView; outcomes: readonly RecoveryOutcomes[] | undefined };

/** What `--json` prints of a report. */
export const REPORT_JSON =
  'the recovery, as in the API, with its outcomes per subscription (null: not known)';

export async function printReport(
  { recovery, outcomes }: RecoveryReport,
  api: ApiClient,
  json: boolean,
  terminal: Terminal,
): Promise<void> {
  if (json) {
    terminal.printJson({ ...recovery, outcomes: outcomes?.map(recoveryOutcomesView) ?? null });
    return;
  }
  const labels = subscriptionLabels(api, recovery.queue);
  await labels.load((outcomes ?? []).slice(0, MAX_LABELS).map(({ subscriptionId }) => subscriptionId));
  terminal.print([...recoveryLines(recovery), ...outcomeLines(recovery, outcomes, labels)].join('\n'));
}

/** Subscriptions whose name or URL is looked up: each may take a request. */
const MAX_LABELS = 100;

export function recoveryLines(recovery: RecoveryView): string[] {
  const { id, queue, since, until, subscription, status, state, skipped, updatedAt } = recovery;
  const reasons = Object.entries(skipped).map(([reason, count]) => `${printable(reason)} ${count}`);
  return fieldLines([
    ['Recovery', printable(id)],
    ['Queue', printable(queue)],
    ['Accepted', `${clockTime(since)} to ${clockTime(until)}`],
    ['Subscription', subscription === undefined ? undefined : printable(subscription)],
    ['Status', status === undefined ? undefined : printable(status)],
    ['State', `${state}, updated ${clockTime(updatedAt)}`],
    ['Deliveries', countsOf(recovery)],
    ['Skipped', reasons.length === 0 ? undefined : reasons.join(', ')],
  ]);
}

export function countsOf({ found, reopened, skipped }: RecoveryView): string {
  return `${found} found, ${reopened} reopened, ${sumOf(skipped)} skipped`;
}

const right = { align: 'right' } as const;

const COLUMNS = [
  { head: 'Subscription' },
  { head: 'Subscriber' },
  { head: 'Total', ...right },
  { head: 'Delivered', ...right },
  { head: 'Failed again', ...right },
  { head: 'Open', ...right },
  { head: 'Next attempt' },
];

function outcomeLines(
  recovery: RecoveryView,
  outcomes: RecoveryReport['outcomes'],
  labels: SubscriptionLabels,
): string[] {
  if (outcomes === undefined) return ['', OUTCOMES_UNKNOWN];
  const rows = outcomes.map((one) => outcomeRow(one, labels));
  const lost = lostText(recovery, outcomes);
  return [
    ...(rows.length === 0 ? [] : ['', ...tableLines(COLUMNS, rows)]),
    ...(lost === undefined ? [] : ['', lost]),
  ];
}

function outcomeRow(
  { subscriptionId, total, delivered, failed, open, nextAttemptAt }: RecoveryOutcomes,
  labels: SubscriptionLabels,
): string[] {
  return [
    printable(shortId(subscriptionId)),
    printable(labels.of(subscriptionId)),
    ...[total, delivered, failed, open].map(String),
    nextAttemptAt === undefined ? '' : clockTime(timeText(nextAttemptAt)),
  ];
}
