import type * as z from 'zod';
import type { ApiClient } from '../../../api-client/api-client.ts';
import { getStatistics } from '../../../api-client/operations.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';
import { STATISTICS_COUNTS } from '../../../shared/domain/delivery/statistics.ts';
import { toRecord } from '../../../shared/domain/delivery/vocabulary.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import type { statisticsViewSchema } from '../../../shared/wire/views/statistics.ts';

/** Counts and durations of a queue. `points` leaves out steps in which nothing happened. */
export type Statistics = z.infer<typeof statisticsViewSchema>;
export type Counts = Omit<Statistics['points'][number], 'at'>;
export type Percentiles = NonNullable<Counts['response']>;

/** The windows to choose from. */
export const WINDOWS = {
  hour: { text: 'last hour', lengthMs: 3_600_000, stepSeconds: 60, step: 'minute' },
  day: { text: 'last 24 hours', lengthMs: 86_400_000, stepSeconds: 900, step: '15 minutes' },
  week: { text: 'last 7 days', lengthMs: 604_800_000, stepSeconds: 3_600, step: 'hour' },
} as const;

export type WindowName = keyof typeof WINDOWS;

export const WINDOW_NAMES = ['hour', 'day', 'week'] as const satisfies readonly WindowName[];

/** The steps of a window up to now; the last one is still being counted. Null: the deployment counts nothing. */
export async function readStatistics(
  api: ApiClient,
  queue: string,
  { window, now, signal }: { window: WindowName; now: number; signal: AbortSignal },
): Promise<Statistics | null> {
  const { lengthMs, stepSeconds } = WINDOWS[window];
  const query = { since: timeText(now - lengthMs), step: stepSeconds };
  try {
    const statistics = await api.call(getStatistics, { path: { queue }, query, signal });
    return statistics.enabled ? statistics : null;
  } catch (error) {
    // An earlier version of Posthaste, which does not have the route.
    if (error instanceof ApiRefusal && error.status === 404) return null;
    throw error;
  }
}

/** The counts of several queues, or of one. */
export type Summary = Pick<Statistics, 'since' | 'until' | 'stepSeconds' | 'points' | 'total'>;

/** All steps of the window in order; undefined where nothing happened. `times`: seconds since the epoch, as in uPlot. */
export type Series = { times: number[]; steps: (Counts | undefined)[] };

export function seriesOf({ since, until, stepSeconds, points }: Summary): Series {
  const begin = Date.parse(since) / 1000;
  const count = Math.ceil((Date.parse(until) / 1000 - begin) / stepSeconds);
  const times = Array.from({ length: count }, (_, step) => begin + step * stepSeconds);
  const byTime = new Map(points.map((point) => [Date.parse(point.at) / 1000, point]));
  return { times, steps: times.map((time) => byTime.get(time)) };
}

/** The share of attempts that succeeded, in percent; null without an attempt. */
export function successRate(counts: Counts | undefined): number | null {
  if (counts === undefined || counts.attempts === 0) return null;
  return (1 - (counts.attemptsFailed + counts.attemptsRejected) / counts.attempts) * 100;
}

/** Deliveries that ended without success. Cancelled ones are not failures of a subscriber. */
export function failedIn({ exhausted, rejected }: Counts): number {
  return exhausted + rejected;
}

/**
 * The sums over queues that were read for the same window; undefined without a queue. Percentiles cannot be added up:
 * those of the slowest queue stand for all.
 */
export function sumOfStatistics(all: readonly Summary[]): Summary | undefined {
  const [first] = all;
  if (first === undefined) return undefined;
  const byTime = Object.groupBy(
    all.flatMap(({ points }) => points),
    ({ at }) => at,
  );
  return {
    since: all.map(({ since }) => since).reduce((one, other) => (one < other ? one : other)),
    until: all.map(({ until }) => until).reduce((one, other) => (one > other ? one : other)),
    stepSeconds: first.stepSeconds,
    points: Object.entries(byTime).map(([at, points = []]) => ({ at, ...sumOfCounts(points) })),
    total: sumOfCounts(all.map(({ total }) => total)),
  };
}

function sumOfCounts(all: readonly Counts[]): Counts {
  const timeToDelivery = slowestOf(all.flatMap((counts) => counts.timeToDelivery ?? []));
  const response = slowestOf(all.flatMap((counts) => counts.response ?? []));
  return {
    ...toRecord(STATISTICS_COUNTS, (name) => all.reduce((total, counts) => total + counts[name], 0)),
    ...(timeToDelivery && { timeToDelivery }),
    ...(response && { response }),
  };
}

function slowestOf(all: readonly Percentiles[]): Percentiles | undefined {
  return all.toSorted((one, other) => other.p99 - one.p99)[0];
}
