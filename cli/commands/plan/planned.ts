import type { RetryMechanism } from '../../../shared/domain/delivery/wake-up-plan.ts';
import { computeBill, pricePeers, tableCosts } from './bill.ts';
import { countOperations } from './operations.ts';
import { computePeaks } from './peaks.ts';
import type { RegionPrices } from './prices.ts';
import {
  DAYS_A_MONTH,
  FULL_BATCH,
  plannedRetries,
  SECONDS_A_DAY,
  workOfDay,
  worksOfOutage,
  type Group,
  type Plan,
  type Work,
} from './work.ts';

/** An outage of one subscriber. `share`: its part of all deliveries, 0 to 1. */
export type Outage = { hours: number; share: number };

export type PlanResult = ReturnType<typeof computePlan>;

/** The result that the command prints. Operations are per day, bills per month. */
export function computePlan(plan: Plan, prices: RegionPrices, outage?: Outage) {
  const full = { ...plan, messagesPerBatch: FULL_BATCH };
  const operations = countOperations(workOfDay(plan));
  const bill = computeBill(plan, operations, prices);
  return {
    plan,
    operations,
    bill,
    tables: tableCosts(bill, plan),
    // The real cost lies between these two bills.
    fullBatches: computeBill(full, countOperations(workOfDay(full)), prices),
    peers: pricePeers(plan, prices),
    peaks: computePeaks(plan, operations),
    ...(plan.batchWindowSeconds === 0 ? {} : { gathering: computeBatchWaits(plan) }),
    ...(outage === undefined ? {} : { outage: { ...outage, ...computeOutage(plan, outage, prices) } }),
  };
}

/**
 * At very low traffic Lambda may wait this long for a batch, even with a shorter window (Lambda developer guide, "Using
 * Lambda with Amazon SQS"). AWS gives no threshold; this estimate uses less than a full batch in that time.
 */
const QUIET_WAIT_SECONDS = 20;

/** The longest wait for a batch, in seconds: of a message, and of its job again. Retries do not wait. */
function computeBatchWaits({ messagesPerDay, batchWindowSeconds }: Plan) {
  const isQuiet = (messagesPerDay / SECONDS_A_DAY) * QUIET_WAIT_SECONDS < FULL_BATCH;
  return {
    seconds: isQuiet ? Math.max(batchWindowSeconds, QUIET_WAIT_SECONDS) : batchWindowSeconds,
    isQuiet,
  };
}

/** The effect of an outage, and its additional cost. */
export function computeOutage(plan: Plan, { hours, share }: Outage, prices: RegionPrices) {
  const { outage, usual } = worksOfOutage(plan, hours * 3600, share);
  const perSecond = (plan.messagesPerDay * plan.fanOut * share) / SECONDS_A_DAY;
  const affected = outage.groups.filter(({ failures, deliveries }) => failures > 0 && deliveries > 0);
  const total = (of: (group: Group) => number): number =>
    affected.reduce((sum, group) => sum + group.deliveries * of(group), 0);
  const of = (mechanism: RetryMechanism) => (retry: { mechanism: RetryMechanism } | undefined) =>
    retry?.mechanism === mechanism;
  const made = (mechanism: RetryMechanism): number =>
    total(({ retries, failures }) => retries.slice(0, failures).filter(of(mechanism)).length);
  /** At the end of the outage each delivery waits for its next retry. */
  const next = ({ retries, failures }: Group) => retries[failures - 1];
  const waiting = (mechanism: RetryMechanism): number =>
    total((group) => (of(mechanism)(next(group)) ? 1 : 0));
  const atEnd = plannedRetries(plan).filter(({ offsetSeconds }) => offsetSeconds <= hours * 3600);
  const rateAtEnd = (mechanism: RetryMechanism): number => perSecond * atEnd.filter(of(mechanism)).length;
  const usd = (work: Work): number => computeBill(plan, countOperations(work), prices).usd;
  return {
    deliveries: total(() => 1),
    exhausted: total(({ exhausted }) => (exhausted ? 1 : 0)),
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
    drainSeconds: Math.max(0, ...affected.map((group) => next(group)?.delaySeconds ?? 0)),
    /** A bill multiplies by the days of a month, but the outage happens once. */
    extraUsd: (usd(outage) - usd(usual)) / DAYS_A_MONTH,
  };
}
