import type { Operations } from './operations.ts';
import { plannedRetries, SECONDS_A_DAY, type Plan } from './work.ts';

export type Peak = ReturnType<typeof computePeaks>[number];

export const peakNames = {
  schedules: 'EventBridge Scheduler, schedules',
  create_schedule_rate: 'EventBridge Scheduler, CreateSchedule per second',
  schedule_invocation_rate: 'EventBridge Scheduler, invocations per second',
  lambda_concurrency: 'Lambda, concurrent executions',
  dispatch_concurrency: 'dispatch, concurrent executions',
  deliver_concurrency: 'deliver, concurrent executions',
  table_write_rate: 'DynamoDB, write units per second on the deliveries table',
  table_read_rate: 'DynamoDB, read units per second on the deliveries table',
  new_table_write_rate: 'DynamoDB, write units per second on a table created today',
  index_partition_write_rate: 'DynamoDB, write units per second on one index key of a listing',
  in_flight_messages: 'SQS, messages in flight on one queue',
};

type PeakName = keyof typeof peakNames;

/**
 * The listing of a queue has the hottest index keys: each failing delivery is added and later removed, in two indexes, on
 * one of 8 shards (delivery-keys.ts).
 */
const LISTING_WRITES = 4 / 8;

/**
 * The quotas that the planned traffic needs, if it all went to one queue. Quotas are the defaults of large regions
 * (docs/operations.md#quotas; the developer guides of DynamoDB, SQS and Lambda) and of the project's
 * settings (infra/deployment-settings.ts).
 */
export function computePeaks(plan: Plan, operations: Operations) {
  const atPeak = (aDay: number): number => (aDay / SECONDS_A_DAY) * plan.peakFactor;
  const [dispatch, deliver] = [atPeak(operations.seconds.dispatch), atPeak(operations.seconds.deliver)];
  const [byDispatch, byDeliver] = plan.workers > 0 ? [0, 0] : [dispatch, deliver];
  const byApi = atPeak(operations.seconds.api);
  const schedules = atPeak(operations.schedules);
  const [writes, reads] = [atPeak(operations.writeUnits), atPeak(operations.readUnits)];
  const scheduled = plannedRetries(plan).filter(({ mechanism }) => mechanism === 'scheduler');
  const longest = Math.max(0, ...scheduled.map(({ delaySeconds }) => delaySeconds));
  const failing = Math.min(plan.messagesPerDay * plan.fanOut * plan.failureRate, operations.failedAttempts);
  const listed = atPeak(failing) * LISTING_WRITES;
  // `raise`: what to raise; absent if AWS does not raise this quota.
  const peaks: [what: PeakName, needed: number, quota: number, raise?: string][] = [
    ['schedules', schedules * longest, 10_000_000, 'EventBridge Scheduler, number of schedules'],
    ['create_schedule_rate', schedules, 5_000, 'EventBridge Scheduler, CreateSchedule request rate'],
    ['schedule_invocation_rate', schedules, 1_000, 'EventBridge Scheduler, invocations throttle limit'],
    ['lambda_concurrency', byDispatch + byDeliver + byApi, 1_000, 'Lambda, concurrent executions'],
    ['dispatch_concurrency', byDispatch, 50, 'the setting dispatchConcurrency'],
    ['deliver_concurrency', byDeliver, 100, 'the settings deliverConcurrency and retryConcurrency'],
    ['table_write_rate', writes, 40_000, 'DynamoDB, table-level write throughput'],
    ['table_read_rate', reads, 40_000, 'DynamoDB, table-level read throughput'],
    ['new_table_write_rate', writes, 4_000, 'the warm throughput of the table for its first day'],
    ['index_partition_write_rate', listed, 1_000],
    ['in_flight_messages', deliver * plan.messagesPerBatch, 120_000, 'SQS, in-flight messages of a queue'],
  ];
  return peaks.map(([what, needed, quota, raise]) => ({ what, needed, quota, raise }));
}
