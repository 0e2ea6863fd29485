import { TERMINAL_STATUSES, toRecord } from './vocabulary.ts';

export const STATISTICS_COUNTS = [
  'messages',
  'matched',
  'filtered',
  'attempts',
  'attemptsFailed',
  'attemptsRejected',
  ...TERMINAL_STATUSES,
] as const;
export type StatisticsCount = (typeof STATISTICS_COUNTS)[number];

/** `timeToDelivery`: from the acceptance to the end of the successful attempt. `response`: duration of an attempt. */
export const STATISTICS_TIMES = ['timeToDelivery', 'response'] as const;
export type StatisticsTime = (typeof STATISTICS_TIMES)[number];

/** Seconds between two points of a chart. */
export const STATISTICS_STEPS = [60, 300, 900, 3600, 86_400] as const;

/** The number of durations in each bucket. */
export type Histogram = ReadonlyMap<number, number>;

/** What happened in a queue in some time. */
export type Counters = Readonly<Record<StatisticsTime, Histogram>> & {
  readonly counts: Readonly<Record<StatisticsCount, number>>;
};

/** Counters that `addTo` changes. */
export type RunningCounters = Record<StatisticsTime, Map<number, number>> & {
  counts: Record<StatisticsCount, number>;
};

export function noCounters(): RunningCounters {
  return {
    counts: toRecord(STATISTICS_COUNTS, () => 0),
    timeToDelivery: new Map(),
    response: new Map(),
  };
}

export function addTo(total: RunningCounters, more: Counters): void {
  for (const name of STATISTICS_COUNTS) total.counts[name] += more.counts[name];
  for (const time of STATISTICS_TIMES)
    for (const [bucket, count] of more[time]) total[time].set(bucket, (total[time].get(bucket) ?? 0) + count);
}

/** Buckets an octave: bucket n has the durations over 2^((n − 1) / 3) up to 2^(n / 3) ms; bucket 0 those up to 1 ms. */
const PER_OCTAVE = 3;

/** Adds a duration in milliseconds. Less than 1 counts as 1: clocks differ, and a success may seem to be the earlier. */
export function addDuration(histogram: Map<number, number>, milliseconds: number): void {
  const bucket = Math.ceil(Math.log2(Math.max(1, milliseconds)) * PER_OCTAVE);
  histogram.set(bucket, (histogram.get(bucket) ?? 0) + 1);
}

/** In milliseconds, each at most 12 % and half a millisecond off. */
export type Percentiles = { count: number; p50: number; p95: number; p99: number };

/** Percentiles by the nearest rank; undefined without durations. */
export function computePercentiles(histogram: Histogram): Percentiles | undefined {
  const buckets = [...histogram].sort(([one], [other]) => one - other);
  const count = buckets.reduce((sum, [, some]) => sum + some, 0);
  if (count === 0) return undefined;
  const percentile = (share: number): number => {
    let rank = Math.ceil(share * count);
    const [bucket = 0] = buckets.find(([, some]) => (rank -= some) <= 0) ?? [];
    return Math.round(estimateDuration(bucket));
  };
  return { count, p50: percentile(0.5), p95: percentile(0.95), p99: percentile(0.99) };
}

/**
 * The duration that is relatively as far from both ends of its bucket: with γ = 2^(1/3), by (γ − 1) / (γ + 1) = 11.5 %
 * (Masson et al., "DDSketch", VLDB 2019).
 */
function estimateDuration(bucket: number): number {
  const upper = 2 ** (bucket / PER_OCTAVE);
  return bucket === 0 ? upper : (2 * upper) / (1 + 2 ** (1 / PER_OCTAVE));
}
