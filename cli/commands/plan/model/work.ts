import { courseThrough, plannedRetries, type Course, type PlannedRetry } from './course.ts';
import { SECONDS_A_DAY, type Plan } from './plan.ts';

/** How many messages Lambda brings at once from each of the three queues. */
export type Batches = { ingress: number; delivery: number; retry: number };

/** Deliveries that go the same way, of a number of messages. */
export type Group = {
  deliveries: number;
  /** Of them, those in no chunk because their subscription was failing when the message came: 0 to 1. */
  apart: number;
  course: Course;
  retries: readonly PlannedRetry[];
};

export type Work = {
  messages: number;
  fanOut: number;
  payloadBytes: number;
  /** The setting of that name. */
  firstAttemptsPerJob: number;
  /** Writes by which the successes of a chunk are recorded: 1 where all answer about as fast as each other. */
  recordsPerChunk: number;
  batches: Batches;
  groups: readonly Group[];
  /** Messages of which a delivery fails: their body is kept, once however many of them fail. */
  kept: number;
};

/** The work of one day. Deliveries that fail all go the same way. */
export function workOfDay(plan: Plan): Work {
  const retries = plannedRetries(plan.policy, plan.thresholdSeconds);
  const { messagesPerDay: messages, fanOut } = plan;
  const deliveries = messages * fanOut;
  const failing = deliveries * plan.failureRate;
  const course = courseThrough(retries, plan.failingSeconds);
  return {
    ...shapeOf(plan),
    messages,
    groups: [
      { deliveries: deliveries - failing, apart: 0, course: NEVER, retries },
      { deliveries: failing, apart: apartWhileFailing(plan, plan.failingSeconds), course, retries },
    ],
    kept: messages * (1 - (1 - plan.failureRate) ** fanOut),
  };
}

/** The course of a delivery that succeeds at once. */
export const NEVER: Course = { failures: 0, exhausted: false };

/** What every part of a plan has in common. */
export function shapeOf({
  fanOut,
  payloadBytes,
  messagesPerBatch,
  firstAttemptsPerJob,
  recordsPerChunk,
}: Plan): Pick<Work, 'fanOut' | 'payloadBytes' | 'firstAttemptsPerJob' | 'recordsPerChunk' | 'batches'> {
  return {
    fanOut,
    payloadBytes,
    firstAttemptsPerJob,
    recordsPerChunk,
    batches: { ingress: messagesPerBatch, delivery: messagesPerBatch, retry: messagesPerBatch },
  };
}

/** The default of the setting `subscriptionCacheSeconds`: so long dispatch may take a subscription that fails for one that does not. */
const UNSEEN_SECONDS = 5;

/**
 * Of the deliveries to a subscription that fails for so many seconds, the share that finds it failing: all but the first one
 * and those that follow before dispatch has read of it.
 */
export function apartWhileFailing({ messagesPerDay }: Plan, failingSeconds: number): number {
  const perSecond = messagesPerDay / SECONDS_A_DAY;
  const unseen = 1 + perSecond * Math.min(failingSeconds, UNSEEN_SECONDS);
  return 1 - unseen / (1 + perSecond * failingSeconds);
}
