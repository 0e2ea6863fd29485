import { computeOf } from './bill.ts';
import type { Operations } from './operations.ts';
import type { OperationTable } from './tables.ts';
import { plannedRetries, SECONDS_A_DAY, type Plan } from './work.ts';

/** What the busiest second needs, and what an account has without asking; without `raise` AWS does not raise it. */
export type Peak = { what: PeakName; needed: number; quota: number; raise?: string };

export const peakNames = {
  schedules: 'Schedules at once',
  create_schedule_rate: 'CreateSchedule a second',
  schedule_invocation_rate: 'Schedules carried out a second',
  lambda_concurrency: 'Lambda, concurrent executions',
  dispatch_concurrency: 'dispatch, concurrent executions',
  deliver_concurrency: 'deliver, concurrent executions',
  table_write_rate: 'DynamoDB, write units a second on the deliveries table',
  table_read_rate: 'DynamoDB, read units a second on the deliveries table',
  new_table_write_rate: 'DynamoDB, write units a second on a table made today',
  index_partition_write_rate: 'DynamoDB, write units a second on one key of a listing',
  in_flight_messages: 'SQS, messages in flight on one queue',
};

export type PeakName = keyof typeof peakNames;

/** Partitions that the listing of one queue's deliveries is spread over (delivery-keys.ts). */
const QUEUE_SHARDS = 8;

/**
 * The planned traffic as if it were one queue's. Quotas are the defaults of large regions (docs/design.md#8-facts-of-aws-that-shaped-it; the developer guides
 * of DynamoDB, SQS and Lambda) and of our settings (infra/deployment-settings.ts).
 */
export function peaksOf(plan: Plan, operations: Operations, table: OperationTable): Peak[] {
  const atPeak = (aDay: number): number => (aDay / SECONDS_A_DAY) * plan.peakFactor;
  const peak = (what: PeakName, needed: number, quota: number, raise?: string): Peak => ({
    what,
    needed,
    quota,
    ...(raise === undefined ? {} : { raise }),
  });
  const compute = computeOf(plan, operations, table);
  const [dispatch, deliver] = [atPeak(compute.dispatch.seconds), atPeak(compute.deliver.seconds)];
  const schedules = atPeak(operations.schedules);
  const writes = atPeak(operations.writeUnits);
  const reads = atPeak(operations.readUnits);
  const scheduled = plannedRetries(plan).filter(({ mechanism }) => mechanism === 'scheduler');
  const longest = Math.max(0, ...scheduled.map(({ delaySeconds }) => delaySeconds));
  // The hottest index keys are those of the listing: a failing delivery is added and removed.
  const failing = Math.min(plan.messagesPerDay * plan.fanOut * plan.failureRate, operations.failedAttempts);
  const listed = atPeak(failing * (table.steps.firstFailure.indexWriteUnits ?? 0)) / QUEUE_SHARDS;
  return [
    peak('schedules', schedules * longest, 10_000_000, 'EventBridge Scheduler, number of schedules'),
    peak('create_schedule_rate', schedules, 5_000, 'EventBridge Scheduler, CreateSchedule request rate'),
    peak('schedule_invocation_rate', schedules, 1_000, 'EventBridge Scheduler, invocations throttle limit'),
    peak('lambda_concurrency', dispatch + deliver, 1_000, 'Lambda, concurrent executions'),
    peak('dispatch_concurrency', dispatch, 50, 'the setting dispatchConcurrency'),
    peak(
      'deliver_concurrency',
      deliver,
      100,
      'the settings deliverConcurrency (first attempts) and retryConcurrency (retries)',
    ),
    peak('table_write_rate', writes, 40_000, 'DynamoDB, table-level write throughput'),
    peak('table_read_rate', reads, 40_000, 'DynamoDB, table-level read throughput'),
    peak(
      'new_table_write_rate',
      writes,
      4_000,
      'nothing: warm the table up beforehand (warm throughput); after a day it follows by itself',
    ),
    peak('index_partition_write_rate', listed, 1_000),
    peak(
      'in_flight_messages',
      deliver * plan.messagesPerBatch,
      120_000,
      'SQS, in-flight messages of a standard queue',
    ),
  ];
}
