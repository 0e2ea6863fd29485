import { courseThrough, plannedRetries, type Course, type PlannedRetry } from './course.ts';
import type { Plan } from './plan.ts';

/** How many messages Lambda brings at once from each of the three queues. */
export type Batches = { ingress: number; delivery: number; retry: number };

/** Deliveries that go the same way, of a number of messages. */
export type Group = { deliveries: number; course: Course; retries: readonly PlannedRetry[] };

export type Work = {
  messages: number;
  fanOut: number;
  payloadBytes: number;
  batches: Batches;
  groups: readonly Group[];
};

/** The work of one day. Deliveries that fail all go the same way. */
export const workOfDay = (plan: Plan): Work => {
  const retries = plannedRetries(plan.policy, plan.thresholdSeconds);
  const deliveries = plan.messagesPerDay * plan.fanOut;
  const failing = deliveries * plan.failureRate;
  const { fanOut, payloadBytes, messagesPerBatch } = plan;
  return {
    messages: plan.messagesPerDay,
    fanOut,
    payloadBytes,
    batches: { ingress: messagesPerBatch, delivery: messagesPerBatch, retry: messagesPerBatch },
    groups: [
      { deliveries: deliveries - failing, course: { failures: 0, exhausted: false }, retries },
      { deliveries: failing, course: courseThrough(retries, plan.failingSeconds), retries },
    ],
  };
};

/** Messages of which a delivery fails: their body is kept, once however many of them fail. */
export const keptMessages = ({ messages, fanOut, groups }: Work): number => {
  const deliveries = messages * fanOut;
  const failing = groups.reduce(
    (total, group) => total + (group.course.failures > 0 ? group.deliveries : 0),
    0,
  );
  return deliveries === 0 ? 0 : messages * (1 - (1 - failing / deliveries) ** fanOut);
};
