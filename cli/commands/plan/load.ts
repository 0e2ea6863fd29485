import { Command, InvalidArgumentError } from 'commander';
import { type RetryMechanism, planWakeUp } from '../../../shared/domain/delivery/wake-up-plan.ts';
import { RETENTION_DAYS } from '../../../shared/domain/retention.ts';
import {
  completeRetryPolicy,
  DEFAULT_RETRY_POLICY,
  type PartialRetryPolicy,
} from '../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../shared/domain/retry/schedule.ts';
import { functionMemory } from '../../../shared/config/function-memory.ts';
import { type FunctionName, MEMORY_MEGABYTES } from '../../../shared/config/rules.ts';
import { functionSettings } from '../../../shared/config/settings.ts';
import { decimal, option, parseDuration, wholeNumber } from '../../options/arguments.ts';

/** Days in an average month; AWS bills monthly. */
export const DAYS_A_MONTH = 365 / 12;
export const SECONDS_A_DAY = 86_400;

/** Maximum messages per SQS batch. */
export const FULL_BATCH = 10;

const MEBIBYTE = 1024 * 1024;

const parseDays = wholeNumber(RETENTION_DAYS.least, RETENTION_DAYS.most);
const parseHoursADay = decimal(0, 24, 'a number of hours up to 24');
const parseHours = decimal(Number.MIN_VALUE, 336, 'a number of hours above 0, up to 336');

type Row = readonly [value: string, meaning: string, parse: (text: string) => unknown, preset?: unknown];

/**
 * The load, and every assumption: an option is its name in kebab-case. Without a preset it may be absent. The limits of a
 * setting are its own (shared/config/settings.ts).
 */
const planOptions = {
  fanOut: ['F', 'matching subscriptions per message', wholeNumber(1, 100_000), 1],
  subscriptions: ['N', 'those of all queues with messages (default: --fan-out)', wholeNumber(1)],
  pullShare: ['P', 'share of deliveries that subscribers pull, 0 to 1', decimal(0, 1), 0],
  failureRate: ['P', 'share of deliveries whose first attempt fails, 0 to 1', decimal(0, 1), 0],
  failingFor: ['DURATION', 'how long its subscriber fails: 90, 30m, 1h', parseDuration, 60],
  policy: ['POLICY', 'retry policy, as JSON or a preset; missing fields come from the defaults', String],
  schedulerThreshold: ['SECONDS', 'the setting schedulerThreshold', wholeNumber(0, 900), 90],
  payloadBytes: ['B', 'size of a message in bytes', wholeNumber(1, MEBIBYTE), 1024],
  firstAttemptsPerJob: ['N', 'the setting firstAttemptsPerJob', wholeNumber(1, 25), 10],
  statisticsPerInvocation: [
    'N',
    'writes of queue statistics per invocation, 0 with queueStatistics=false (default: by the load)',
    decimal(0, 10),
  ],
  messagesPerBatch: ['N', 'in a Lambda batch (default: those of its window)', decimal(1, 10)],
  batchWindowSeconds: ['S', 'the setting batchWindowSeconds', wholeNumber(0, 60), 0],
  attemptMs: ['MS', 'response time of a subscriber in ms', wholeNumber(1, 30_000), 100],
  failedAttemptMs: ['MS', 'the same if it fails (default: --attempt-ms)', wholeNumber(1, 30_000)],
  answerBytes: ['B', 'size of a response in bytes', wholeNumber(0, MEBIBYTE), 0],
  peakFactor: ['X', 'ratio of the busiest second to the average', decimal(1, 1000), 4],
  memoryMegabytes: [
    'JSON',
    'the setting memoryMegabytes, such as {"deliver": 384} (default: that of the setting)',
    parseMemory,
  ],
  retentionDays: ['D', 'the setting retentionDays', parseDays, 30],
  outageHours: ['H', 'also show an outage of one subscriber for this long', parseHours],
  outageShare: ['S', 'its share of all deliveries, 0 to 1 (default: 1 / fan-out)', decimal(0, 1)],
  apiRequestsPerDay: ['N', 'requests to the API, and empty receives', wholeNumber(0), 0],
  portalRequestsPerDay: [
    'N',
    'requests of the pages of customers, with the setting portal',
    wholeNumber(0),
    0,
  ],
  unmatchedPerDay: ['N', 'further messages, to queues without a subscription', wholeNumber(0), 0],
  consoleHours: ['H', 'hours a day for which its overview is open', parseHoursADay, 0],
  coldStartShare: ['P', 'share of invocations, usually below 0.01', decimal(0, 1), 0],
  workers: ['N', 'tasks of WorkerService, in place of the functions', wholeNumber(0, 1000), 0],
  region: ['R', 'AWS region for the prices', String, 'us-east-1'],
  prices: ['FILE', 'use the prices in this file instead of the built-in ones; - for stdin', String],
} as const satisfies Record<string, Row>;

type Values = { [Name in keyof typeof planOptions]: ReturnType<(typeof planOptions)[Name][2]> };
type Preset = {
  [Name in keyof Values]: (typeof planOptions)[Name] extends { length: 4 } ? Name : never;
}[keyof Values];

export type PlanOptions = { messagesPerDay: number } & Pick<Values, Preset> & Partial<Omit<Values, Preset>>;

/** The options of `posthaste plan`. */
export const PLAN_OPTIONS = [
  option(
    '--messages-per-day <N>',
    'messages published per day (required)',
    wholeNumber(1),
  ).makeOptionMandatory(),
  ...Object.entries<Row>(planOptions).map(([name, [value, meaning, parse, preset]]) => {
    const inKebabCase = name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
    return option(`--${inKebabCase} <${value}>`, meaning, parse, preset);
  }),
];

/** The options in the words of a command line. */
export function parsePlanOptions(words: readonly string[]): PlanOptions {
  const command = new Command();
  for (const one of PLAN_OPTIONS) command.addOption(one);
  return command.parse(words, { from: 'user' }).opts();
}

type LoadOptions = Omit<PlanOptions, 'policy' | 'outageHours' | 'outageShare' | 'region' | 'prices'>;

/** The load and its assumptions. */
export type Plan = ReturnType<typeof buildPlan>;

export function buildPlan(
  { failingFor, schedulerThreshold, ...load }: LoadOptions,
  policy: PartialRetryPolicy = {},
) {
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
    /** The setting subscriptionCacheSeconds. */
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

function parseMemory(text: string): Readonly<Record<FunctionName, number>> {
  const { data, error } = functionMemory.safeParse(text);
  if (error !== undefined) throw new InvalidArgumentError(`It ${error.issues[0]?.message ?? 'is invalid'}.`);
  return { ...data, dispatch: data.dispatch ?? MEMORY_MEGABYTES.dispatch };
}

/** A retry of a policy: its mechanism, its delay, and its time after the first attempt. */
type PlannedRetry = { mechanism: RetryMechanism; delaySeconds: number; offsetSeconds: number };

/** Deliveries with the same course. */
export type Group = ReturnType<typeof planCourse> & {
  deliveries: number;
  /** Share of deliveries in single jobs, because dispatch already knew that the subscription was failing. */
  singleJobShare: number;
};

/** The sum over all deliveries of these groups, with the same summand for those of a group. */
export function sumOver(groups: readonly Group[], summand: (group: Group) => number): number {
  return groups.reduce((total, group) => total + group.deliveries * summand(group), 0);
}

/** The messages of some time, and the groups of their deliveries. */
export type Work = {
  plan: Plan;
  seconds: number;
  queues: number;
  /** Those with a subscription, and those without. */
  messages: number;
  unmatched: number;
  /** Deliveries by pull, which are in no group. Each is acknowledged at its first receive. */
  pulled: number;
  /** Messages per invocation, by queue, and deliveries per receive by pull. */
  batches: { ingress: number; delivery: number; retry: number; pull: number };
  groups: readonly Group[];
  /** Messages with a failed or pulled delivery: the body of each is stored once. */
  kept: number;
};

/** The retries of a policy in order, without jitter, and with attempts that take no time. */
export function plannedRetries({ policy, thresholdSeconds }: Pick<Plan, 'policy' | 'thresholdSeconds'>) {
  let offsetSeconds = 0;
  return retrySchedule(policy).map(({ delaySeconds }): PlannedRetry => {
    offsetSeconds += delaySeconds;
    const mechanism =
      delaySeconds === 0 ? 'same_invocation' : planWakeUp(delaySeconds * 1000, 0, thresholdSeconds).by;
    return { mechanism, delaySeconds, offsetSeconds };
  });
}

/** So many attempts fail, each retried if the policy has a retry left; then one succeeds, unless retries are exhausted. */
export function planCourse(retries: readonly PlannedRetry[], failed: number) {
  const failures = Math.min(failed, retries.length + 1);
  return { failures, retries: retries.slice(0, failures), exhausted: failures > retries.length };
}

/** Failures of a delivery whose subscriber fails for this many seconds; the first attempt always fails. */
export function failuresWithin(retries: readonly PlannedRetry[], failingSeconds: number): number {
  return 1 + retries.filter(({ offsetSeconds }) => offsetSeconds < failingSeconds).length;
}

const SUCCESS = { singleJobShare: 0, ...planCourse([], 0) };

/** The work of a day. All failing deliveries have the same course. */
export function workOfDay(plan: Plan): Work {
  const { messagesPerDay, fanOut, pullShare, failureRate, failingSeconds } = plan;
  const retries = plannedRetries(plan);
  const deliveries = messagesPerDay * fanOut;
  const failing = deliveries * (1 - pullShare) * failureRate;
  const singleJobShare = knownFailingShare(plan, failingSeconds);
  // A message has as many pull subscriptions as the next one.
  const unkept = Math.max(0, 1 - pullShare * fanOut) * (1 - failureRate) ** fanOut;
  const groups = [
    { ...SUCCESS, deliveries: deliveries * (1 - pullShare) - failing },
    { ...planCourse(retries, failuresWithin(retries, failingSeconds)), deliveries: failing, singleJobShare },
  ];
  const pulled = deliveries * pullShare;
  return { ...buildWork(plan, SECONDS_A_DAY, messagesPerDay * (1 - unkept), groups), pulled };
}

/**
 * The work during an outage that affects `share` of the deliveries, and the same work without the outage. Deliveries
 * arrive evenly, and each succeeds with its first attempt after the end. Those with the same course are a group.
 */
export function worksOfOutage(plan: Plan, seconds: number, share: number): { outage: Work; usual: Work } {
  const retries = plannedRetries(plan);
  const messages = (plan.messagesPerDay * seconds) / SECONDS_A_DAY;
  const deliveries = messages * plan.fanOut * share;
  const singleJobShare = knownFailingShare(plan, seconds);
  const untouched = { ...SUCCESS, deliveries: messages * plan.fanOut - deliveries };
  const affected = [...retries, { offsetSeconds: Infinity }].map(({ offsetSeconds }, failed): Group => {
    const from = Math.min(retries[failed - 1]?.offsetSeconds ?? 0, seconds);
    const part = (Math.min(offsetSeconds, seconds) - from) / seconds;
    return { ...planCourse(retries, failed + 1), deliveries: deliveries * part, singleJobShare };
  });
  return {
    outage: buildWork(plan, seconds, Math.min(messages, deliveries), [untouched, ...affected]),
    usual: buildWork(plan, seconds, 0, [untouched, { ...SUCCESS, deliveries }]),
  };
}

function buildWork(plan: Plan, seconds: number, kept: number, groups: readonly Group[]): Work {
  const { messagesPerBatch: batch, messagesPerDay, batchWindowSeconds } = plan;
  // The retry queue has no window.
  const retry = batchWindowSeconds > 0 ? 1 : batch;
  const batches = { ingress: batch, delivery: batch, retry, pull: batch };
  const messages = (messagesPerDay * seconds) / SECONDS_A_DAY;
  const unmatched = (plan.unmatchedPerDay * seconds) / SECONDS_A_DAY;
  const queues = Math.max(1, plan.subscriptions / plan.fanOut);
  return { plan, seconds, queues, messages, unmatched, pulled: 0, batches, groups, kept };
}

/** Share of the deliveries to a failing subscription for which dispatch, which caches lists, already knows that it fails. */
export function knownFailingShare(
  { messagesPerDay, cacheSeconds }: Pick<Plan, 'messagesPerDay' | 'cacheSeconds'>,
  failingSeconds: number,
): number {
  const perSecond = messagesPerDay / SECONDS_A_DAY;
  const unseen = 1 + perSecond * Math.min(failingSeconds, cacheSeconds);
  return 1 - unseen / (1 + perSecond * failingSeconds);
}
