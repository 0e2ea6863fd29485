import type { Books } from '../../../../shared/domain/message/books.ts';
import type { SubscriptionView } from '../../../../shared/wire/views/subscription.ts';
import type { ListedDelivery } from '../../../../cli/api/deliveries.ts';
import type { Health } from '../../../../cli/api/service.ts';
import { counted } from '../../parts/counted.ts';
import type { Listed } from '../../api/listed.ts';

/** The data read for one queue. `books` covers the window before `at`; times are milliseconds. */
export type QueueReading = {
  at: number;
  windowMs: number;
  subscriptions: Listed<SubscriptionView>;
  books: Books;
  retrying: Listed<ListedDelivery>;
};

/** The figures of a queue. `latenessMs`: how overdue the latest retry is. */
export type QueueFigures = {
  subscriptions: { count: number; more: boolean; failing: number; off: number };
  perMinute: number;
  delivered: number;
  /** Ended without success: rejected and exhausted. */
  failed: number;
  pending: { count: number; more: boolean };
  latenessMs: number;
};

const MINUTE_MS = 60_000;

export function figuresOf({ at, windowMs, subscriptions, books, retrying }: QueueReading): QueueFigures {
  const { items } = subscriptions;
  const older = retrying.items.filter(({ acceptedAt }) => Date.parse(acceptedAt) < at - windowMs);
  return {
    subscriptions: {
      count: items.length,
      more: subscriptions.more,
      failing: items.filter(({ failing, disabled }) => failing !== undefined && disabled === undefined)
        .length,
      off: items.filter(({ disabled }) => disabled !== undefined && disabled.reason !== 'manual').length,
    },
    perMinute: (books.accepted / windowMs) * MINUTE_MS,
    delivered: books.delivered,
    failed: books.rejected + books.exhausted,
    pending: { count: books.pending + older.length, more: retrying.more },
    latenessMs: Math.max(0, ...retrying.items.map(({ nextAttemptAt }) => lateness(nextAttemptAt, at))),
  };
}

/** 0 for an attempt in progress, which has no next time. */
function lateness(nextAttemptAt: string | undefined, at: number): number {
  return nextAttemptAt === undefined ? 0 : at - Date.parse(nextAttemptAt);
}

/** The totals of several queues; the lateness is the maximum. */
export function totalOf(
  all: readonly QueueFigures[],
): Pick<QueueFigures, 'perMinute' | 'delivered' | 'failed' | 'pending' | 'latenessMs'> {
  const sum = (figure: (figures: QueueFigures) => number): number =>
    all.reduce((total, figures) => total + figure(figures), 0);
  return {
    perMinute: sum(({ perMinute }) => perMinute),
    delivered: sum(({ delivered }) => delivered),
    failed: sum(({ failed }) => failed),
    pending: {
      count: sum(({ pending }) => pending.count),
      more: all.some(({ pending }) => pending.more),
    },
    latenessMs: Math.max(0, ...all.map(({ latenessMs }) => latenessMs)),
  };
}

/** About how many SQS messages wait for dispatch or a first attempt; undefined where they could not be counted. */
export function waitingIn({ queues }: Pick<Health, 'queues'>): number | undefined {
  return queues && (queues['ingress'] ?? 0) + (queues['delivery'] ?? 0);
}

/** Less counts as on time: SQS and the polling of this page take as long. */
export const LATE_MS = 5_000;

export type Warning = { weight: number; text: string };

/** What needs attention, worst first. */
export function warningsOf({ subscriptions, failed, latenessMs }: QueueFigures): Warning[] {
  return [
    ...(subscriptions.off > 0
      ? [
          {
            weight: 4,
            text: `${counted(subscriptions.off, 'subscription', 'subscriptions')} disabled after failures`,
          },
        ]
      : []),
    ...(latenessMs > 12 * LATE_MS ? [{ weight: 3, text: 'retries are overdue' }] : []),
    ...(subscriptions.failing > 0
      ? [
          {
            weight: 2,
            text: counted(subscriptions.failing, 'subscription is failing', 'subscriptions are failing'),
          },
        ]
      : []),
    ...(failed > 0
      ? [{ weight: 1, text: `${counted(failed, 'delivery', 'deliveries')} rejected or exhausted` }]
      : []),
  ];
}

/** Sorts by the weight of the worst problem, then by name. */
export function byUrgency<Row extends { name: string; warnings: readonly Warning[] }>(
  rows: readonly Row[],
): Row[] {
  return rows.toSorted((one, other) => weightOf(other) - weightOf(one) || (one.name < other.name ? -1 : 1));
}

function weightOf({ warnings }: { warnings: readonly Warning[] }): number {
  return warnings[0]?.weight ?? 0;
}

/** 0, 0.4, 12, 1,250 */
export function rateText(perMinute: number): string {
  return perMinute.toLocaleString('en', { maximumFractionDigits: perMinute < 10 ? 1 : 0 });
}
