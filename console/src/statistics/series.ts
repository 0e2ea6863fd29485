import type { Counts, Percentiles, Statistics } from './read-statistics.ts';

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
  const sum = (name: keyof Omit<Counts, 'timeToDelivery' | 'response'>): number =>
    all.reduce((total, counts) => total + counts[name], 0);
  const timeToDelivery = slowestOf(all.flatMap((counts) => counts.timeToDelivery ?? []));
  const response = slowestOf(all.flatMap((counts) => counts.response ?? []));
  return {
    messages: sum('messages'),
    matched: sum('matched'),
    filtered: sum('filtered'),
    attempts: sum('attempts'),
    attemptsFailed: sum('attemptsFailed'),
    attemptsRejected: sum('attemptsRejected'),
    delivered: sum('delivered'),
    exhausted: sum('exhausted'),
    rejected: sum('rejected'),
    cancelled: sum('cancelled'),
    ...(timeToDelivery && { timeToDelivery }),
    ...(response && { response }),
  };
}

function slowestOf(all: readonly Percentiles[]): Percentiles | undefined {
  return all.toSorted((one, other) => other.p99 - one.p99)[0];
}
