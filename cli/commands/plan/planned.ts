import type { RetryMechanism } from '../../../shared/domain/delivery/wake-up-plan.ts';
import { billOf, peersOf } from './bill.ts';
import { FULL_BATCH, jobsOf } from './jobs.ts';
import { operationsOf, type Operations } from './operations.ts';
import { peaksOf } from './peaks.ts';
import type { OperationTable, RegionPrices } from './tables.ts';
import {
  DAYS_A_MONTH,
  plannedRetries,
  SECONDS_A_DAY,
  withAnswers,
  workOfDay,
  worksOfOutage,
  type Plan,
} from './work.ts';

/** An outage of one subscriber. `share`: its part of all deliveries, 0 to 1. */
export type Outage = { hours: number; share: number };

export type PlanResult = ReturnType<typeof computePlan>;

/** The result that the command prints. Operations are per day, bills per month. */
export function computePlan(
  plan: Plan,
  { table: measured, prices, outage }: { table: OperationTable; prices: RegionPrices; outage?: Outage },
) {
  const table = withAnswers(measured, plan.answerBytes);
  const bill = (of: Plan, operations: Operations) => billOf(of, operations, { table, prices });
  const operations = operationsOf(workOfDay(plan), table);
  // The real cost lies between this bill and the one without full batches.
  const full = { ...plan, messagesPerBatch: FULL_BATCH };
  const outageCost = ({ hours, share }: Outage): number => {
    const works = worksOfOutage(plan, hours * 3600, share);
    // A bill multiplies by the days of a month, but the outage happens once.
    const [during, usual] = [works.outage, works.usual].map(
      (work) => bill(plan, operationsOf(work, table)).usd / DAYS_A_MONTH,
    );
    return (during ?? 0) - (usual ?? 0);
  };
  return {
    plan,
    operations,
    bill: bill(plan, operations),
    fullBatches: bill(full, operationsOf(workOfDay(full), table)),
    peers: peersOf(plan, prices),
    peaks: peaksOf(plan, operations, table),
    ...(plan.batchWindowSeconds === 0 ? {} : { gathering: gatheringOf(plan) }),
    ...(outage === undefined
      ? {}
      : { outage: { ...outage, ...outageEffect(plan, outage), extraUsd: outageCost(outage) } }),
  };
}

/**
 * At very low traffic Lambda may wait this long for a batch, even with a shorter window (Lambda developer guide, "Using
 * Lambda with Amazon SQS"). AWS gives no threshold; this estimate uses less than a full batch in that time.
 */
const QUIET_WAIT_SECONDS = 20;

/**
 * The longest wait of a first attempt for batches, in seconds: first as a message, then as a job. Retries do not wait.
 */
export function gatheringOf(plan: Plan): { messageSeconds: number; jobSeconds: number; isQuiet: boolean } {
  const { messagesPerDay, batchWindowSeconds: window } = plan;
  const { chunks, singles } = jobsOf(workOfDay(plan));
  const isQuiet = (aDay: number): boolean => (aDay / SECONDS_A_DAY) * QUIET_WAIT_SECONDS < FULL_BATCH;
  const secondsOf = (aDay: number): number => (isQuiet(aDay) ? Math.max(window, QUIET_WAIT_SECONDS) : window);
  return {
    messageSeconds: secondsOf(messagesPerDay),
    jobSeconds: secondsOf(messagesPerDay * (chunks + singles)),
    isQuiet: isQuiet(messagesPerDay),
  };
}

/**
 * The effect of an outage. Deliveries arrive evenly, and each succeeds with its first attempt after the end. At time t,
 * deliveries that arrived between `t − offset(k)` and `t − offset(k − 1)` wait for retry k.
 */
export function outageEffect(plan: Plan, { hours, share }: Outage) {
  const seconds = hours * 3600;
  const perSecond = (plan.messagesPerDay * plan.fanOut * share) / SECONDS_A_DAY;
  const planned = plannedRetries(plan);
  const retries = planned.map((retry, index) => {
    const { offsetSeconds: after = 0 } = planned[index - 1] ?? {};
    return {
      ...retry,
      after,
      waitSeconds: Math.min(retry.offsetSeconds, seconds) - Math.min(after, seconds),
    };
  });
  type Step = (typeof retries)[number];
  const total = (mechanism: RetryMechanism, of: (retry: Step) => number): number =>
    retries
      .filter((retry) => retry.mechanism === mechanism)
      .reduce((sum, retry) => sum + perSecond * of(retry), 0);
  const made = (mechanism: RetryMechanism) => total(mechanism, ({ after }) => Math.max(0, seconds - after));
  const rateAtEnd = (mechanism: RetryMechanism) =>
    total(mechanism, ({ offsetSeconds }) => (offsetSeconds <= seconds ? 1 : 0));
  const waiting = (mechanism: RetryMechanism) => total(mechanism, ({ waitSeconds }) => waitSeconds);
  const reached = retries.filter(({ after }) => after < seconds);
  return {
    deliveries: perSecond * seconds,
    exhausted: perSecond * Math.max(0, seconds - (retries.at(-1)?.offsetSeconds ?? 0)),
    retries: {
      same_invocation: made('same_invocation'),
      sqs_delay: made('sqs_delay'),
      scheduler: made('scheduler'),
    },
    wakeUpsPerSecondAtEnd: rateAtEnd('sqs_delay') + rateAtEnd('scheduler'),
    schedulesPerSecondAtEnd: rateAtEnd('scheduler'),
    schedulesAtPeak: waiting('scheduler'),
    delayedMessagesAtPeak: waiting('sqs_delay'),
    /** From the end of the outage to the last retry. */
    drainSeconds: Math.max(0, ...reached.map(({ delaySeconds }) => delaySeconds)),
  };
}
