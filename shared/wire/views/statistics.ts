import * as z from 'zod';
import { computePercentiles, type Counters, STATISTICS_COUNTS } from '../../domain/delivery/statistics.ts';
import { toRecord } from '../../domain/delivery/vocabulary.ts';
import { timeView } from '../fields.ts';

const count = z.int().min(0);
const milliseconds = z.int().min(0);

const percentiles = z
  .object({ count, p50: milliseconds, p95: milliseconds, p99: milliseconds })
  .exactOptional();

const statisticsFields = {
  ...toRecord(STATISTICS_COUNTS, () => count),
  timeToDelivery: percentiles.describe(
    'Milliseconds from the acceptance of a message to the end of the successful attempt.',
  ),
  response: percentiles.describe('Milliseconds that attempts took.'),
};

/** What happened in a queue, by steps of time. */
export const statisticsViewSchema = z.object({
  queue: z.string(),
  enabled: z.boolean().describe('Whether the setting `queueStatistics` is on.'),
  since: timeView,
  until: timeView,
  stepSeconds: z.int(),
  points: z.array(z.object({ at: timeView, ...statisticsFields })).describe('Without empty steps.'),
  total: z.object(statisticsFields),
});

/** Counts, and percentiles where there are durations. */
export function toCountersView({ counts, ...times }: Counters) {
  const timeToDelivery = computePercentiles(times.timeToDelivery);
  const response = computePercentiles(times.response);
  return {
    ...counts,
    ...(timeToDelivery === undefined ? {} : { timeToDelivery }),
    ...(response === undefined ? {} : { response }),
  };
}
