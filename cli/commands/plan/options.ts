import { InvalidArgumentError, type Command } from 'commander';
import { RETENTION_DAYS } from '../../../shared/domain/retention.ts';
import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  type PartialRetryPolicy,
} from '../../../shared/domain/retry/policy.ts';
import { functionMemory } from '../../../shared/config/function-memory.ts';
import { MEMORY_MEGABYTES } from '../../../shared/config/rules.ts';
import { functionSettings } from '../../../shared/config/settings.ts';
import { parseDuration, wholeNumber } from '../../options/arguments.ts';
import { FULL_BATCH, SECONDS_A_DAY, type Plan } from './work.ts';

type Unlike = 'recordsPerChunk' | 'failingSeconds' | 'thresholdSeconds' | 'policy' | 'cacheSeconds';
type Defaulted =
  'subscriptions' | 'messagesPerBatch' | 'statisticsPerInvocation' | 'failedAttemptMs' | 'memoryMegabytes';

export type LoadOptions = Omit<Plan, Unlike | Defaulted> &
  Partial<Pick<Plan, Defaulted>> & { failingFor: number; schedulerThreshold: number };

export type PlanOptions = LoadOptions & {
  policy?: string;
  outageHours?: number;
  outageShare?: number;
  region: string;
  prices?: string;
  json?: true;
};

const MEBIBYTE = 1024 * 1024;

/** The maximum is that of the setting (shared/config/settings.ts). */
const parseInChunk = wholeNumber(1, 25);
const parseResponseTime = wholeNumber(1, 30_000);
const parseDays = wholeNumber(RETENTION_DAYS.least, RETENTION_DAYS.most);

/** Adds the options of a plan: the load, and every assumption. */
export function addPlanOptions(command: Command): Command {
  return command
    .requiredOption('--messages-per-day <N>', 'messages published per day (required)', wholeNumber(1))
    .option('--fan-out <F>', 'matching subscriptions per message', wholeNumber(1, 100_000), 1)
    .option('--subscriptions <N>', 'those of all queues with messages (default: --fan-out)', wholeNumber(1))
    .option('--pull-share <P>', 'share of deliveries that subscribers pull, 0 to 1', parseShare, 0)
    .option('--failure-rate <P>', 'share of deliveries whose first attempt fails, 0 to 1', parseShare, 0)
    .option('--failing-for <DURATION>', 'how long its subscriber fails: 90, 30m, 1h', parseDuration, 60)
    .option('--policy <POLICY>', 'retry policy, as JSON or a preset; missing fields come from the defaults')
    .option('--scheduler-threshold <SECONDS>', 'the setting schedulerThreshold', wholeNumber(0, 900), 90)
    .option('--payload-bytes <B>', 'size of a message in bytes', wholeNumber(1, MEBIBYTE), 1024)
    .option('--first-attempts-per-job <N>', 'the setting firstAttemptsPerJob', parseInChunk, 10)
    .option(
      '--statistics-per-invocation <N>',
      'writes of queue statistics per invocation, 0 with queueStatistics=false (default: by the load)',
      parseWrites,
    )
    .option('--messages-per-batch <N>', 'in a Lambda batch (default: those of its window)', parseBatch)
    .option('--batch-window-seconds <S>', 'the setting batchWindowSeconds', wholeNumber(0, 60), 0)
    .option('--attempt-ms <MS>', 'response time of a subscriber in ms', parseResponseTime, 100)
    .option('--failed-attempt-ms <MS>', 'the same if it fails (default: --attempt-ms)', parseResponseTime)
    .option('--answer-bytes <B>', 'size of a response in bytes', wholeNumber(0, MEBIBYTE), 0)
    .option('--peak-factor <X>', 'ratio of the busiest second to the average', parseFactor, 4)
    .option(
      '--memory-megabytes <JSON>',
      'the setting memoryMegabytes, such as {"deliver": 384} (default: that of the setting)',
      parseMemory,
    )
    .option('--retention-days <D>', 'the setting retentionDays', parseDays, 30)
    .option('--outage-hours <H>', 'also show an outage of one subscriber for this long', parseHours)
    .option('--outage-share <S>', 'its share of all deliveries, 0 to 1 (default: 1 / fan-out)', parseShare)
    .option('--api-requests-per-day <N>', 'requests to the API, and empty receives', wholeNumber(0), 0)
    .option('--console-hours <H>', 'hours a day for which its overview is open', parseHoursADay, 0)
    .option('--cold-start-share <P>', 'share of invocations, usually below 0.01', parseShare, 0)
    .option('--workers <N>', 'tasks of WorkerService, in place of the functions', wholeNumber(0, 1000), 0)
    .option('--region <R>', 'AWS region for the prices', 'us-east-1')
    .option('--prices <FILE>', 'use the prices in this file instead of the built-in ones; - for stdin')
    .option(
      '--json',
      'print JSON: plan, operations (per day), bill, tables, fullBatches, peers, peaks, gathering, outage',
    );
}

export function buildPlan(
  { failingFor, schedulerThreshold, ...load }: LoadOptions,
  policy: PartialRetryPolicy = {},
): Plan {
  return {
    subscriptions: load.fanOut,
    recordsPerChunk: 1,
    statisticsPerInvocation: undefined,
    messagesPerBatch: gatheredIn(load.messagesPerDay, load.batchWindowSeconds),
    failedAttemptMs: load.attemptMs,
    memoryMegabytes: MEMORY_MEGABYTES,
    ...load,
    failingSeconds: failingFor,
    thresholdSeconds: schedulerThreshold,
    policy: completeRetryPolicy(policy, DEFAULT_RETRY_POLICY).policy,
    cacheSeconds: functionSettings.subscriptionCacheSeconds.default,
  };
}

/** Pollers that Lambda begins with for each queue (developer guide, "Configuring scaling behavior for SQS"). */
const POLLERS = 5;

/** A poller that has a message waits for the window, and takes those that come meanwhile. Assumed: all get as many. */
function gatheredIn(messagesPerDay: number, batchWindowSeconds: number): number {
  const perPoller = messagesPerDay / SECONDS_A_DAY / POLLERS;
  return Math.min(FULL_BATCH, 1 + perPoller * batchWindowSeconds);
}

function parseMemory(text: string): Plan['memoryMegabytes'] {
  const { data, error } = functionMemory.safeParse(text);
  if (error !== undefined) throw new InvalidArgumentError(`It ${error.issues[0]?.message ?? 'is invalid'}.`);
  return { ...data, dispatch: data.dispatch ?? MEMORY_MEGABYTES.dispatch };
}

function decimal(rule: string, isAllowed: (value: number) => boolean) {
  return (text: string): number => {
    const value = Number(text);
    if (!/^\d{1,9}(\.\d{1,9})?$/.test(text) || !isAllowed(value))
      throw new InvalidArgumentError(`Expected ${rule}.`);
    return value;
  };
}

const parseShare = decimal('a number from 0 to 1', (value) => value <= 1);
const parseWrites = decimal('a number from 0 to 10', (value) => value <= 10);
const parseBatch = decimal('a number from 1 to 10', (value) => value >= 1 && value <= 10);
const parseFactor = decimal('a number from 1 to 1000', (value) => value >= 1 && value <= 1000);
const parseHoursADay = decimal('a number of hours up to 24', (value) => value <= 24);
const parseHours = decimal('a number of hours above 0, up to 336', (value) => value > 0 && value <= 336);
