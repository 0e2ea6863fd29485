import type { RetryMechanism } from '../../../shared/domain/delivery/wake-up-plan.ts';
import { billOf, peersOf, type Bill } from './bill.ts';
import { FULL_BATCH, jobsOf, operationsOf } from './operations.ts';
import { peaksOf } from './peaks.ts';
import type { RegionPrices } from './prices.ts';
import { DAYS_A_MONTH, plannedRetries, SECONDS_A_DAY, workOfDay, worksOfOutage, type Plan } from './work.ts';

/** An outage of one subscriber. `share`: its part of all deliveries, 0 to 1. */
export type Outage = { hours: number; share: number };

export type PlanResult = ReturnType<typeof computePlan>;

/** The result that the command prints. Operations are per day, bills per month. */
export function computePlan(plan: Plan, prices: RegionPrices, outage?: Outage) {
  const billFor = (of: Plan): Bill => billOf(of, operationsOf(workOfDay(of)), prices);
  const operations = operationsOf(workOfDay(plan));
  return {
    plan,
    operations,
    bill: billFor(plan),
    // The real cost lies between these two bills.
    fullBatches: billFor({ ...plan, messagesPerBatch: FULL_BATCH }),
    peers: peersOf(plan, prices),
    peaks: peaksOf(plan, operations),
    ...(plan.batchWindowSeconds === 0 ? {} : { gathering: gatheringOf(plan) }),
    ...(outage === undefined
      ? {}
      : {
          outage: { ...outage, ...outageEffect(plan, outage), extraUsd: outageCost(plan, outage, prices) },
        }),
  };
}

/** A bill multiplies by the days of a month, but the outage happens once. */
function outageCost(plan: Plan, { hours, share }: Outage, prices: RegionPrices): number {
  const { outage, usual } = worksOfOutage(plan, hours * 3600, share);
  const usd = (work: typeof outage): number => billOf(plan, operationsOf(work), prices).usd;
  return (usd(outage) - usd(usual)) / DAYS_A_MONTH;
}

/**
 * At very low traffic Lambda may wait this long for a batch, even with a shorter window (Lambda developer guide, "Using
 * Lambda with Amazon SQS"). AWS gives no threshold; this estimate uses less than a full batch in that time.
 */
const QUIET_WAIT_SECONDS = 20;

/**
 * The longest wait of a first attempt for batches, in seconds: first as a message, then as a job. Retries do not wait.
 */
function gatheringOf(plan: Plan): { messageSeconds: number; jobSeconds: number; isQuiet: boolean } {
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
  const steps = planned.map((retry, index) => ({ ...retry, after: planned[index - 1]?.offsetSeconds ?? 0 }));
  const total = (mechanism: RetryMechanism, of: (step: (typeof steps)[number]) => number): number =>
    steps.filter((step) => step.mechanism === mechanism).reduce((sum, step) => sum + perSecond * of(step), 0);
  const made = (mechanism: RetryMechanism) => total(mechanism, ({ after }) => Math.max(0, seconds - after));
  const rateAtEnd = (mechanism: RetryMechanism) =>
    total(mechanism, ({ offsetSeconds }) => (offsetSeconds <= seconds ? 1 : 0));
  const waiting = (mechanism: RetryMechanism) =>
    total(
      mechanism,
      ({ offsetSeconds, after }) => Math.min(offsetSeconds, seconds) - Math.min(after, seconds),
    );
  const reached = steps.filter(({ after }) => after < seconds);
  return {
    deliveries: perSecond * seconds,
    exhausted: perSecond * Math.max(0, seconds - (planned.at(-1)?.offsetSeconds ?? 0)),
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
