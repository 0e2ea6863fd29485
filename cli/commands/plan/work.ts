import type { Mechanism } from '../../../shared/domain/vocabulary.ts';
import { MOST_SNIPPET } from '../../../shared/domain/delivery/chunk-members.ts';
import type { RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { retrySchedule } from '../../../shared/domain/retry/schedule.ts';
import { planWakeUp } from '../../../shared/domain/retry/wake-up-plan.ts';
import type { OperationTable } from './tables.ts';

/** AWS bills by the month: 365 / 12 days. */
export const DAYS_A_MONTH = 365 / 12;
export const SECONDS_A_DAY = 86_400;

/** What is planned for; options.ts describes each. */
export type Plan = {
  messagesPerDay: number;
  fanOut: number;
  failureRate: number;
  failingSeconds: number;
  policy: RetryPolicy;
  thresholdSeconds: number;
  payloadBytes: number;
  firstAttemptsPerJob: number;
  recordsPerChunk: number;
  messagesPerBatch: number;
  batchWindowSeconds: number;
  attemptMs: number;
  failedAttemptMs: number;
  answerBytes: number;
  peakFactor: number;
  retentionDays: number;
};

/** A retry of a policy: its mechanism, its delay, and how long after the first attempt it is made. */
export type PlannedRetry = { mechanism: Mechanism; delaySeconds: number; offsetSeconds: number };

/** Deliveries that go the same way: so many attempts fail, and then one succeeds unless retries are exhausted. */
export type Group = {
  deliveries: number;
  /** The share in jobs of one, because dispatch knew that the subscription was failing. */
  apart: number;
  failures: number;
  exhausted: boolean;
  retries: readonly PlannedRetry[];
};

/** Messages and the groups of their deliveries. */
export type Work = Pick<Plan, 'fanOut' | 'payloadBytes' | 'firstAttemptsPerJob' | 'recordsPerChunk'> & {
  messages: number;
  /** Messages in an invocation, by queue. */
  batches: { ingress: number; delivery: number; retry: number };
  groups: readonly Group[];
  /** Messages with a failed delivery: their body is kept, once however many fail. */
  kept: number;
};

/** In order, without jitter, attempts taken for instantaneous. */
export function plannedRetries({ policy, thresholdSeconds }: Pick<Plan, 'policy' | 'thresholdSeconds'>) {
  let offsetSeconds = 0;
  return retrySchedule(policy).map(({ delaySeconds }): PlannedRetry => {
    offsetSeconds += delaySeconds;
    const mechanism =
      delaySeconds === 0 ? 'same_invocation' : planWakeUp(delaySeconds * 1000, 0, thresholdSeconds).by;
    return { mechanism, delaySeconds, offsetSeconds };
  });
}

/** Of a delivery whose subscriber fails for so many seconds from the first attempt on; that attempt always fails. */
export function failuresWithin(retries: readonly PlannedRetry[], failingSeconds: number) {
  const failed = retries.filter(({ offsetSeconds }) => offsetSeconds < failingSeconds).length;
  return { failures: 1 + failed, exhausted: failed === retries.length };
}

const SUCCESS = { apart: 0, failures: 0, exhausted: false };

/** The work of a day. All failing deliveries go the same way. */
export function workOfDay(plan: Plan): Work {
  const { messagesPerDay, fanOut, failureRate, failingSeconds } = plan;
  const retries = plannedRetries(plan);
  const failing = messagesPerDay * fanOut * failureRate;
  return workOf(plan, messagesPerDay, messagesPerDay * (1 - (1 - failureRate) ** fanOut), [
    { ...SUCCESS, deliveries: messagesPerDay * fanOut - failing, retries },
    {
      deliveries: failing,
      apart: apartWhileFailing(plan, failingSeconds),
      ...failuresWithin(retries, failingSeconds),
      retries,
    },
  ]);
}

/** How finely an outage is divided: the deliveries of one part go the same way. */
const PARTS = 200;

/** The messages of an outage of so many seconds, `share` of their deliveries meeting it; and the same without an outage. */
export function worksOfOutage(plan: Plan, seconds: number, share: number): { outage: Work; usual: Work } {
  const messages = (plan.messagesPerDay * seconds) / SECONDS_A_DAY;
  const retries = plannedRetries(plan);
  const deliveries = messages * plan.fanOut * share;
  const apart = apartWhileFailing(plan, seconds);
  const untouched = { ...SUCCESS, deliveries: messages * plan.fanOut - deliveries, retries };
  const parts = Array.from({ length: PARTS }, (_, part): Group => {
    const left = seconds - ((part + 0.5) / PARTS) * seconds;
    return { deliveries: deliveries / PARTS, apart, ...failuresWithin(retries, left), retries };
  });
  return {
    outage: workOf(plan, messages, Math.min(messages, deliveries), [untouched, ...parts]),
    usual: workOf(plan, messages, 0, [untouched, { ...SUCCESS, deliveries, retries }]),
  };
}

function workOf(plan: Plan, messages: number, kept: number, groups: readonly Group[]): Work {
  const { fanOut, payloadBytes, firstAttemptsPerJob, recordsPerChunk, messagesPerBatch: batch } = plan;
  const batches = { ingress: batch, delivery: batch, retry: batch };
  return { messages, fanOut, payloadBytes, firstAttemptsPerJob, recordsPerChunk, batches, groups, kept };
}

/** The default of `subscriptionCacheSeconds`: so long dispatch may not know that a subscription fails. */
const UNSEEN_SECONDS = 5;

/** Of the deliveries to a subscription that fails for so long, the share for which dispatch knows of it. */
export function apartWhileFailing(
  { messagesPerDay }: Pick<Plan, 'messagesPerDay'>,
  failingSeconds: number,
): number {
  const perSecond = messagesPerDay / SECONDS_A_DAY;
  const unseen = 1 + perSecond * Math.min(failingSeconds, UNSEEN_SECONDS);
  return 1 - unseen / (1 + perSecond * failingSeconds);
}

/** Bytes of a response kept on a delivery's record (shared/adapters/http/reply-reading.ts). */
const MOST_KEPT_OF_ANSWER = 256;

/** The table as if subscribers answered with so many bytes; it was measured with none. */
export function withAnswers(table: OperationTable, answerBytes: number): OperationTable {
  const kept = Math.min(answerBytes, MOST_KEPT_OF_ANSWER);
  const { claimed, recorded } = table.chunkItemBytes;
  const member = recorded.member + Math.min(answerBytes, MOST_SNIPPET);
  return {
    ...table,
    deliveryItemBytes: table.deliveryItemBytes.map((bytes) => bytes + kept),
    chunkItemBytes: { claimed, recorded: { ...recorded, member } },
  };
}
