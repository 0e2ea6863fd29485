import { computeOf } from './compute.ts';
import { plannedRetries } from './course.ts';
import type { OperationTable } from './operation-table.ts';
import type { Operations } from './operations.ts';
import { SECONDS_A_DAY, type Plan } from './plan.ts';
import { stepsOf } from './steps.ts';

/** What the busiest second needs, against what an account has without asking. */
export type Peak = {
  what: PeakName;
  needed: number;
  quota: number;
  /** Undefined: AWS does not raise it. */
  raise?: string;
};

export type PeakName =
  | 'schedules'
  | 'create_schedule_rate'
  | 'schedule_invocation_rate'
  | 'lambda_concurrency'
  | 'dispatch_concurrency'
  | 'deliver_concurrency'
  | 'table_write_rate'
  | 'table_read_rate'
  | 'new_table_write_rate'
  | 'index_partition_write_rate'
  | 'in_flight_messages';

/** Defaults in the large regions (design §8; DynamoDB developer guide, "Quotas"; SQS and Lambda developer guides). */
const QUOTAS = {
  schedules: 10_000_000,
  createSchedule: 5_000,
  scheduleInvocations: 1_000,
  concurrency: 1_000,
  tableUnits: 40_000,
  newTableWriteUnits: 4_000,
  partitionWriteUnits: 1_000,
  inFlight: 120_000,
};

/** Defaults of our own settings (infra/deployment-settings.ts). */
const SETTINGS = { dispatchConcurrency: 50, deliverConcurrency: 100 };

/** Partitions that the listing of one queue's deliveries is spread over (delivery-keys.ts). */
const QUEUE_SHARDS = 8;

/** The planned traffic as if it were one queue's, its busiest second `peakFactor` above the average. */
export function peaksOf(plan: Plan, operations: Operations, table: OperationTable): Peak[] {
  const atPeak = (aDay: number): number => (aDay / SECONDS_A_DAY) * plan.peakFactor;
  const { dispatch, deliver } = computeOf(operations, table, plan);
  const [dispatching, delivering] = [atPeak(dispatch.seconds), atPeak(deliver.seconds)];
  const schedules = atPeak(operations.schedules);
  const writes = atPeak(operations.writeUnits);
  return [
    {
      what: 'schedules',
      needed: schedules * longestScheduled(plan),
      quota: QUOTAS.schedules,
      raise: 'EventBridge Scheduler, number of schedules',
    },
    {
      what: 'create_schedule_rate',
      needed: schedules,
      quota: QUOTAS.createSchedule,
      raise: 'EventBridge Scheduler, CreateSchedule request rate',
    },
    {
      what: 'schedule_invocation_rate',
      needed: schedules,
      quota: QUOTAS.scheduleInvocations,
      raise: 'EventBridge Scheduler, invocations throttle limit',
    },
    {
      what: 'lambda_concurrency',
      needed: dispatching + delivering,
      quota: QUOTAS.concurrency,
      raise: 'Lambda, concurrent executions',
    },
    {
      what: 'dispatch_concurrency',
      needed: dispatching,
      quota: SETTINGS.dispatchConcurrency,
      raise: 'the setting dispatchConcurrency',
    },
    {
      what: 'deliver_concurrency',
      needed: delivering,
      quota: SETTINGS.deliverConcurrency,
      raise: 'the settings deliverConcurrency (first attempts) and retryConcurrency (retries)',
    },
    {
      what: 'table_write_rate',
      needed: writes,
      quota: QUOTAS.tableUnits,
      raise: 'DynamoDB, table-level write throughput',
    },
    {
      what: 'table_read_rate',
      needed: atPeak(operations.readUnits),
      quota: QUOTAS.tableUnits,
      raise: 'DynamoDB, table-level read throughput',
    },
    {
      what: 'new_table_write_rate',
      needed: writes,
      quota: QUOTAS.newTableWriteUnits,
      raise: 'nothing: warm the table up beforehand (warm throughput); after a day it follows by itself',
    },
    {
      what: 'index_partition_write_rate',
      needed: atPeak(indexWrites(plan, operations, table)) / QUEUE_SHARDS,
      quota: QUOTAS.partitionWriteUnits,
    },
    {
      what: 'in_flight_messages',
      needed: delivering * plan.messagesPerBatch,
      quota: QUOTAS.inFlight,
      raise: 'SQS, in-flight messages of a standard queue',
    },
  ];
}

function longestScheduled({ policy, thresholdSeconds }: Plan): number {
  return Math.max(
    0,
    ...plannedRetries(policy, thresholdSeconds)
      .filter(({ mechanism }) => mechanism === 'scheduler')
      .map(({ delaySeconds }) => delaySeconds),
  );
}

/** The hottest partitions are those of the listing: a failing delivery goes onto it and leaves it. */
function indexWrites(plan: Plan, { failedAttempts }: Operations, table: OperationTable): number {
  const failing = plan.messagesPerDay * plan.fanOut * plan.failureRate;
  return Math.min(failing, failedAttempts) * stepsOf(table).firstFailure.indexWriteUnits;
}
