import type { RecoveryOutcomes } from '../../../shared/domain/recovery/outcomes.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import { recoveryOutcomesView, type RecoveryView } from '../../../shared/wire/views/recovery.ts';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { lostText, OUTCOMES_UNKNOWN } from '../../../api-client/recovery-progress.ts';
import {
  shortId,
  subscriptionLabels,
  type SubscriptionLabels,
} from '../../../api-client/subscription-labels.ts';
import { sumOf } from '../../output/counts-text.ts';
import { clockTime } from '../../output/time-text.ts';
import { printable } from '../../output/printable.ts';
import { fieldLines, tableLines } from '../../output/table.ts';
import type { Terminal } from '../../terminal.ts';

/** A recovery and what became of its deliveries; undefined: not known, because an earlier version ran it. */
export type RecoveryReport = { recovery: RecoveryView; outcomes: readonly RecoveryOutcomes[] | undefined };

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
