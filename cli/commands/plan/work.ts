import type { FunctionName } from '../../../shared/config/rules.ts';
import { type RetryMechanism, planWakeUp } from '../../../shared/domain/delivery/wake-up-plan.ts';
import type { RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../shared/domain/retry/schedule.ts';

/** Days in an average month; AWS bills monthly. */
export const DAYS_A_MONTH = 365 / 12;
export const SECONDS_A_DAY = 86_400;

/** Maximum messages per SQS batch. */
export const FULL_BATCH = 10;

/** The load and its assumptions; options.ts describes each field. */
export type Plan = {
  messagesPerDay: number;
  fanOut: number;
  subscriptions: number;
  /** Share of the deliveries that subscribers pull, 0 to 1. */
  pullShare: number;
  failureRate: number;
  failingSeconds: number;
  policy: RetryPolicy;
  thresholdSeconds: number;
  payloadBytes: number;
  firstAttemptsPerJob: number;
  recordsPerChunk: number;
  /** Undefined: as many as follow from the load. */
  statisticsPerInvocation: number | undefined;
  messagesPerBatch: number;
  batchWindowSeconds: number;
  /** The setting subscriptionCacheSeconds. */
  cacheSeconds: number;
  /** Of each function. */
  memoryMegabytes: Readonly<Record<FunctionName, number>>;
  attemptMs: number;
  failedAttemptMs: number;
  answerBytes: number;
  peakFactor: number;
  retentionDays: number;
  /** Without those of pull and of the console. */
  apiRequestsPerDay: number;
  /** Hours a day for which the overview of the console is open. */
  consoleHours: number;
  /** Share of the invocations that begin with a cold start, 0 to 1. */
  coldStartShare: number;
  /** Tasks that work in place of the functions; 0: the functions work. */
  workers: number;
};

/** A retry of a policy: its mechanism, its delay, and its time after the first attempt. */
type PlannedRetry = { mechanism: RetryMechanism; delaySeconds: number; offsetSeconds: number };

/** Deliveries with the same course: `failures` attempts fail, and then one succeeds unless retries are exhausted. */
export type Group = {
  deliveries: number;
  /** Share of deliveries in single jobs, because dispatch already knew that the subscription was failing. */
  singleJobShare: number;
  failures: number;
  exhausted: boolean;
  retries: readonly PlannedRetry[];
};

/** The messages of some time, and the groups of their deliveries. */
export type Work = {
  plan: Plan;
  seconds: number;
  messages: number;
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

/** Failures of a delivery whose subscriber fails for this many seconds; the first attempt always fails. */
export function failuresWithin(retries: readonly PlannedRetry[], failingSeconds: number) {
  const failed = retries.filter(({ offsetSeconds }) => offsetSeconds < failingSeconds).length;
  return { failures: 1 + failed, exhausted: failed === retries.length };
}

const SUCCESS = { singleJobShare: 0, failures: 0, exhausted: false };

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
    { ...SUCCESS, deliveries: deliveries * (1 - pullShare) - failing, retries },
    { deliveries: failing, singleJobShare, ...failuresWithin(retries, failingSeconds), retries },
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
  const untouched = { ...SUCCESS, deliveries: messages * plan.fanOut - deliveries, retries };
  const affected = [...retries, { offsetSeconds: Infinity }].map(({ offsetSeconds }, failed): Group => {
    const from = Math.min(retries[failed - 1]?.offsetSeconds ?? 0, seconds);
    const part = (Math.min(offsetSeconds, seconds) - from) / seconds;
    const exhausted = failed === retries.length;
    return { deliveries: deliveries * part, singleJobShare, failures: 1 + failed, exhausted, retries };
  });
  return {
    outage: buildWork(plan, seconds, Math.min(messages, deliveries), [untouched, ...affected]),
    usual: buildWork(plan, seconds, 0, [untouched, { ...SUCCESS, deliveries, retries }]),
  };
}

function buildWork(plan: Plan, seconds: number, kept: number, groups: readonly Group[]): Work {
  const { messagesPerBatch: batch, messagesPerDay, batchWindowSeconds } = plan;
  // The retry queue has no window.
  const retry = batchWindowSeconds > 0 ? 1 : batch;
  const batches = { ingress: batch, delivery: batch, retry, pull: batch };
  const messages = (messagesPerDay * seconds) / SECONDS_A_DAY;
  return { plan, seconds, messages, pulled: 0, batches, groups, kept };
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
