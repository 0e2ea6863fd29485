import { courseThrough, plannedRetries, type PlannedRetry } from './course.ts';
import type { OperationTable } from './operation-table.ts';
import { operationsOf } from './operations.ts';
import { SECONDS_A_DAY, type Plan } from './plan.ts';
import { apartWhileFailing, NEVER, shapeOf, type Group, type Work } from './work.ts';

/** One subscriber that fails for some hours, at the plan's average rate. */
export type Outage = {
  hours: number;
  /** Of all deliveries, those to it: 0 to 1. */
  share: number;
};

export type OutageEffect = {
  /** Deliveries that come while it lasts, those that run out of retries, and those that get through when it is over. */
  deliveries: number;
  exhausted: number;
  /** Retries made, by what brings them about. */
  retries: { same_invocation: number; sqs_delay: number; scheduler: number };
  /** Retries by wake-up, each second, as it ends: what the retry queue has to bear. */
  wakeUpsPerSecondAtEnd: number;
  /** Of these, by schedules: Scheduler has to carry them out. */
  schedulesPerSecondAtEnd: number;
  /** Schedules and delayed messages that exist at once, at most. */
  schedulesAtPeak: number;
  delayedMessagesAtPeak: number;
  /** From the end of the outage to the last retry, in seconds. */
  drainSeconds: number;
  /** What it makes AWS count beyond the same deliveries without it. */
  work: { outage: Work; usual: Work };
};

/**
 * Deliveries come evenly, each going through its policy from when it came; one succeeds by its first attempt after the end.
 * So at time t of the outage those wait for retry k that came between `t − offset(k)` and `t − offset(k − 1)`.
 */
export function outageOf(plan: Plan, { hours, share }: Outage): OutageEffect {
  const seconds = hours * 3600;
  const perSecond = (plan.messagesPerDay * plan.fanOut * share) / SECONDS_A_DAY;
  const retries = plannedRetries(plan.policy, plan.thresholdSeconds);
  const offsets = [0, ...retries.map(({ offsetSeconds }) => offsetSeconds)];
  const last = offsets.at(-1) ?? 0;
  const madeOf = (mechanism: PlannedRetry['mechanism']): number =>
    retries.reduce(
      (total, retry, index) =>
        // It is made by whoever was failed by the attempt before it.
        retry.mechanism === mechanism
          ? total + perSecond * Math.max(0, seconds - (offsets[index] ?? 0))
          : total,
      0,
    );
  const waitingFor = (mechanism: PlannedRetry['mechanism']): number =>
    retries.reduce((total, retry, index) => {
      if (retry.mechanism !== mechanism) return total;
      const [from, to] = [offsets[index] ?? 0, retry.offsetSeconds];
      return total + perSecond * Math.max(0, Math.min(to, seconds) - Math.min(from, seconds));
    }, 0);
  const rateOf = (mechanism: PlannedRetry['mechanism']): number =>
    perSecond *
    retries.filter((retry) => retry.mechanism === mechanism && retry.offsetSeconds <= seconds).length;
  const reached = retries.filter((_, index) => (offsets[index] ?? 0) < seconds);
  const schedulesPerSecondAtEnd = rateOf('scheduler');
  return {
    deliveries: perSecond * seconds,
    exhausted: perSecond * Math.max(0, seconds - last),
    retries: {
      same_invocation: madeOf('same_invocation'),
      sqs_delay: madeOf('sqs_delay'),
      scheduler: madeOf('scheduler'),
    },
    wakeUpsPerSecondAtEnd: rateOf('sqs_delay') + schedulesPerSecondAtEnd,
    schedulesPerSecondAtEnd,
    schedulesAtPeak: waitingFor('scheduler'),
    delayedMessagesAtPeak: waitingFor('sqs_delay'),
    drainSeconds: Math.max(0, ...reached.map(({ delaySeconds }) => delaySeconds)),
    work: worksOf(plan, { deliveries: perSecond * seconds, seconds, retries }),
  };
}

/** How finely the outage is cut: deliveries that came in one part of it go the same way. */
const PARTS = 200;

type Stream = { deliveries: number; seconds: number; retries: readonly PlannedRetry[] };

/** All messages of that time, with all their deliveries, since what is apart from the others changes what these cost. */
function worksOf(plan: Plan, { deliveries, seconds, retries }: Stream): OutageEffect['work'] {
  const messages = (plan.messagesPerDay * seconds) / SECONDS_A_DAY;
  const untouched = messages * plan.fanOut - deliveries;
  const of = (groups: readonly Group[], kept: number): Work => ({
    ...shapeOf(plan),
    messages,
    groups: [{ deliveries: untouched, apart: 0, course: NEVER, retries }, ...groups],
    kept,
  });
  const apart = apartWhileFailing(plan, seconds);
  const parts = Array.from({ length: PARTS }, (_, part): Group => {
    const left = seconds - ((part + 0.5) / PARTS) * seconds;
    return { deliveries: deliveries / PARTS, apart, course: courseThrough(retries, left), retries };
  });
  return {
    outage: of(parts, Math.min(messages, deliveries)),
    usual: of([{ deliveries, apart: 0, course: NEVER, retries }], 0),
  };
}

/** The two works' operations. */
export function outageOperations({ work }: OutageEffect, table: OperationTable) {
  return {
    outage: operationsOf(work.outage, table),
    usual: operationsOf(work.usual, table),
  };
}
