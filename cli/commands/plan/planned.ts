import { metricNames, metricsOfWorkers } from '../../../shared/config/metrics.ts';
import type { RetryMechanism } from '../../../shared/domain/delivery/wake-up-plan.ts';
import {
  DAYS_A_MONTH,
  FULL_BATCH,
  plannedRetries,
  SECONDS_A_DAY,
  sumOver,
  workOfDay,
  worksOfOutage,
  type Group,
  type Plan,
  type Work,
} from './load.ts';
import { computeDuration, countOperations, type Operations } from './operations.ts';
import { computeCost, countUnits, REQUEST_UNIT, type Priced, type RegionPrices } from './prices.ts';
import { invocation, monitoring, worker } from './quantities.ts';

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
    ...(outage === undefined ? {} : { outage: computeOutage(plan, outage, prices) }),
  };
}

/** A line of the bill: the quantity of a month, and its cost. */
export type Line = { what: Priced; quantity: number; usd: number };

export type Bill = ReturnType<typeof computeBill>;

const GIGABYTE = 1e9;
const MILLION = 1e6;
const MINUTES_A_MONTH = 24 * 60 * DAYS_A_MONTH;

/**
 * Lambda keeps five long polls of 20 s on each of the four queues (developer guide, "Configuring scaling behavior for
 * SQS event source mappings").
 */
const IDLE_RECEIVES_A_MONTH = 4 * 5 * 3 * MINUTES_A_MONTH;

/** Written only where a pause lasts for weeks: `DeliveriesExpiring`. */
const RARE_METRICS = 1;

/** Reconcile writes two gauges at each run; functions write all other metrics only with traffic. */
const STANDING_METRICS = 2;
const allMetrics = Object.keys(metricNames).length;

/** The bill of a month. Custom metrics are charged as if each were written every hour, which is an upper bound. */
export function computeBill(plan: Plan, operations: Operations, prices: RegionPrices) {
  const line = (what: Priced, quantity: number): Line => {
    return { what, quantity, usd: computeCost(prices, what, quantity) };
  };
  const month = (aDay: number): number => aDay * DAYS_A_MONTH;
  const { invocations, seconds, s3Puts } = operations;
  const { workers, memoryMegabytes, retentionDays } = plan;
  const onFunctions = (quantity: number): number => (workers > 0 ? 0 : quantity);
  const gigabyteSeconds = (name: keyof typeof invocation, takenSeconds: number): number =>
    (takenSeconds * memoryMegabytes[name]) / 1024;
  const compute = gigabyteSeconds('dispatch', seconds.dispatch) + gigabyteSeconds('deliver', seconds.deliver);
  const stored = (operations.storedBytes * retentionDays) / GIGABYTE;
  const traffic = [
    line('dynamodbWriteUnits', month(operations.writeUnits)),
    line('dynamodbReadUnits', month(operations.readUnits)),
    line('dynamodbStorage', stored),
    line('dynamodbBackup', stored),
    line('sqsRequests', month(operations.sqsRequests)),
    line('sqsGroupedRequests', month(operations.sqsGroupedRequests)),
    line('lambdaRequests', month(onFunctions(invocations.dispatch + invocations.deliver) + invocations.api)),
    line('lambdaCompute', month(onFunctions(compute) + gigabyteSeconds('api', seconds.api))),
    line('apiRequests', month(invocations.api)),
    line('schedulerInvocations', month(operations.schedules)),
    line('events', month(operations.events)),
    line('s3Puts', month(s3Puts)),
    line('s3Gets', month(operations.s3Gets)),
    line('s3Storage', (s3Puts * plan.payloadBytes * retentionDays) / GIGABYTE),
    line('kmsRequests', month(operations.kmsRequests)),
    line('logs', month(operations.logBytes) / GIGABYTE),
    line('metrics', allMetrics - metricsOfWorkers.size - STANDING_METRICS - RARE_METRICS),
  ];
  const { cpu, log, reads, calls } = invocation.reconcile;
  const reconciling = MINUTES_A_MONTH * computeDuration(memoryMegabytes.reconcile, cpu, calls);
  const workerHours = (MINUTES_A_MONTH / 60) * workers;
  // Each worker reconciles, too.
  const runs = MINUTES_A_MONTH * Math.max(1, workers);
  const [watched, scaling] =
    workers > 0 ? [monitoring.alarmMetricsOfWorkers, worker.scalingMetrics] : [monitoring.alarmMetrics, 0];
  const ofPortal = plan.portalRequestsPerDay > 0 ? monitoring.alarmMetricsOfPortal : 0;
  const others = [
    line('compositeAlarms', monitoring.compositeAlarms),
    line('dashboards', monitoring.dashboards),
  ];
  const standing = [
    line('dynamodbReadUnits', runs * reads),
    line('sqsRequests', workers > 0 ? workerHours * 3600 * worker.receivesPerSecond : IDLE_RECEIVES_A_MONTH),
    line('lambdaRequests', onFunctions(MINUTES_A_MONTH)),
    line('lambdaCompute', onFunctions(gigabyteSeconds('reconcile', reconciling))),
    line('fargateProcessorHours', workerHours * worker.processors),
    line('fargateGigabyteHours', workerHours * worker.gigabytes),
    line('logs', (runs * log) / GIGABYTE),
    line('kmsKeys', monitoring.keys),
    line('metrics', STANDING_METRICS + (workers > 0 ? metricsOfWorkers.size : 0)),
    line('alarmMetrics', watched + scaling + ofPortal),
    ...others,
  ];
  const dataOut = line('dataOut', month(operations.bytesOut) / GIGABYTE);
  const [trafficUsd, standingUsd] = [total(traffic), total(standing)];
  const millions = month(plan.messagesPerDay * plan.fanOut) / MILLION;
  return {
    /** Costs that grow with the traffic, and those without any. */
    traffic,
    standing,
    /** Data transfer to the internet. Every service charges it, so comparisons exclude it. */
    dataOut,
    usd: trafficUsd + standingUsd + dataOut.usd,
    /** Of the stack PosthasteMonitoring and the alarms of upgrades. The functions write their metrics without them as well. */
    monitoringUsd: total([line('alarmMetrics', watched), ...others]),
    /** Without data out: all costs, and those of the traffic alone. */
    perMillionDeliveries: { all: (trafficUsd + standingUsd) / millions, traffic: trafficUsd / millions },
  };
}

function total(lines: readonly Line[]): number {
  return lines.reduce((all, { usd }) => all + usd, 0);
}

/**
 * How Standard-IA and provisioned capacity compare with Standard on demand: list prices of us-east-1. An hour of a
 * capacity unit costs as much as 1,040 request units. Auto scaling keeps 70 % in use, its default.
 */
const INFREQUENT_ACCESS = { requests: 1.25, storage: 0.4 };
const CAPACITY_HOUR_IN_REQUESTS = 1_040;
const TARGET_UTILIZATION = 0.7;

/** What the tables cost in a month as deployed, and otherwise. */
export function tableCosts({ traffic }: Bill, { peakFactor }: Plan) {
  const usd = (...of: Priced[]): number => total(traffic.filter(({ what }) => of.includes(what)));
  const requests = usd('dynamodbWriteUnits', 'dynamodbReadUnits');
  const [storage, backup] = [usd('dynamodbStorage'), usd('dynamodbBackup')];
  const provisioned = (requests * peakFactor * CAPACITY_HOUR_IN_REQUESTS) / 3600 / TARGET_UTILIZATION;
  const infrequentAccess = INFREQUENT_ACCESS.requests * requests + INFREQUENT_ACCESS.storage * storage;
  return [
    { choice: 'on demand, Standard, point-in-time recovery (as deployed)', usd: requests + storage + backup },
    { choice: 'without point-in-time recovery', usd: requests + storage },
    { choice: 'Standard-IA', usd: infrequentAccess + backup },
    { choice: 'provisioned for the busiest second', usd: provisioned + storage + backup },
  ];
}

/**
 * The prices of comparable AWS services for a million deliveries of the same messages, without data out, from the price
 * lists. Neither list names a charge for retries.
 */
export function pricePeers({ fanOut, payloadBytes }: Plan, prices: RegionPrices) {
  const published = (countUnits(payloadBytes, REQUEST_UNIT) * MILLION) / fanOut;
  const cost = (publish: Priced, deliver: Priced): number =>
    computeCost(prices, publish, published) + computeCost(prices, deliver, MILLION);
  return [
    {
      peer: 'sns_http' as const,
      perMillionDeliveries: cost('snsPublishes', 'snsHttpDeliveries'),
      note: 'messages up to 256 KB, retries for at most an hour, a log in place of a record of deliveries',
    },
    {
      peer: 'api_destinations' as const,
      perMillionDeliveries: cost('events', 'apiDestinations'),
      note: 'one rule per subscriber, five targets per rule, at most 24 hours and 185 retries, timeout 5 s, a log in place of a record of deliveries',
    },
  ];
}

export const peakNames = {
  schedules: 'EventBridge Scheduler, schedules',
  create_schedule_rate: 'EventBridge Scheduler, CreateSchedule per second',
  schedule_invocation_rate: 'EventBridge Scheduler, invocations per second',
  lambda_concurrency: 'Lambda, concurrent executions',
  dispatch_concurrency: 'dispatch, concurrent executions',
  deliver_concurrency: 'deliver, concurrent executions',
  table_write_rate: 'DynamoDB, write units per second on the deliveries table',
  table_read_rate: 'DynamoDB, read units per second on the deliveries table',
  new_table_write_rate: 'DynamoDB, write units per second on a table created today',
  index_partition_write_rate: 'DynamoDB, write units per second on one index key of a listing',
  in_flight_messages: 'SQS, messages in flight on one queue',
};

/**
 * The listing of a queue has the hottest index keys: each failing delivery is added and later removed, in two indexes, on
 * one of 8 shards (delivery-keys.ts).
 */
const LISTING_WRITES = 4 / 8;

/**
 * The quotas that the planned traffic needs, if it all went to one queue. Quotas are the defaults of large regions
 * (docs/operations.md#quotas; the developer guides of DynamoDB, SQS and Lambda) and of the project's
 * settings (infra/deployment-settings.ts).
 */
export function computePeaks(plan: Plan, operations: Operations) {
  const atPeak = (aDay: number): number => (aDay / SECONDS_A_DAY) * plan.peakFactor;
  const [dispatch, deliver] = [atPeak(operations.seconds.dispatch), atPeak(operations.seconds.deliver)];
  const [byDispatch, byDeliver] = plan.workers > 0 ? [0, 0] : [dispatch, deliver];
  const byApi = atPeak(operations.seconds.api);
  const schedules = atPeak(operations.schedules);
  const [writes, reads] = [atPeak(operations.writeUnits), atPeak(operations.readUnits)];
  const scheduled = plannedRetries(plan).filter(({ mechanism }) => mechanism === 'scheduler');
  const longest = Math.max(0, ...scheduled.map(({ delaySeconds }) => delaySeconds));
  const failing = Math.min(plan.messagesPerDay * plan.fanOut * plan.failureRate, operations.failedAttempts);
  const listed = atPeak(failing) * LISTING_WRITES;
  // `raise`: what to raise; absent if AWS does not raise this quota.
  const peaks: [what: keyof typeof peakNames, needed: number, quota: number, raise?: string][] = [
    ['schedules', schedules * longest, 10_000_000, 'EventBridge Scheduler, number of schedules'],
    ['create_schedule_rate', schedules, 5_000, 'EventBridge Scheduler, CreateSchedule request rate'],
    ['schedule_invocation_rate', schedules, 1_000, 'EventBridge Scheduler, invocations throttle limit'],
    ['lambda_concurrency', byDispatch + byDeliver + byApi, 1_000, 'Lambda, concurrent executions'],
    ['dispatch_concurrency', byDispatch, 50, 'the setting dispatchConcurrency'],
    ['deliver_concurrency', byDeliver, 100, 'the settings deliverConcurrency and retryConcurrency'],
    ['table_write_rate', writes, 40_000, 'DynamoDB, table-level write throughput'],
    ['table_read_rate', reads, 40_000, 'DynamoDB, table-level read throughput'],
    ['new_table_write_rate', writes, 4_000, 'the setting warmWritesPerSecond before the first deployment'],
    ['index_partition_write_rate', listed, 1_000],
    ['in_flight_messages', deliver * plan.messagesPerBatch, 120_000, 'SQS, in-flight messages of a queue'],
  ];
  return peaks.map(([what, needed, quota, raise]) => ({ what, needed, quota, raise }));
}

/**
 * At very low traffic Lambda may wait this long for a batch, even with a shorter window (Lambda developer guide, "Using
 * Lambda with Amazon SQS"). AWS gives no threshold; this estimate uses less than a full batch in that time.
 */
const QUIET_WAIT_SECONDS = 20;

/** The longest wait for a batch, in seconds: of a message, and of its job again. Retries do not wait. */
function computeBatchWaits({ messagesPerDay, batchWindowSeconds }: Plan) {
  const isQuiet = (messagesPerDay / SECONDS_A_DAY) * QUIET_WAIT_SECONDS < FULL_BATCH;
  return { seconds: Math.max(batchWindowSeconds, isQuiet ? QUIET_WAIT_SECONDS : 0), isQuiet };
}

/** The effect of an outage, and its additional cost. */
export function computeOutage(plan: Plan, { hours, share }: Outage, prices: RegionPrices) {
  const { outage, usual } = worksOfOutage(plan, hours * 3600, share);
  const affected = outage.groups.filter(({ failures, deliveries }) => failures > 0 && deliveries > 0);
  const total = (summand: (group: Group) => number): number => sumOver(affected, summand);
  const count = (retries: readonly { mechanism: RetryMechanism }[], by: RetryMechanism): number =>
    retries.filter(({ mechanism }) => mechanism === by).length;
  const made = (by: RetryMechanism): number => total(({ retries }) => count(retries, by));
  /** At the end of the outage each delivery waits for its next retry. */
  const next = ({ exhausted, retries }: Group) => (exhausted ? [] : retries.slice(-1));
  const waiting = (by: RetryMechanism): number => total((group) => count(next(group), by));
  const perSecond = (plan.messagesPerDay * plan.fanOut * share) / SECONDS_A_DAY;
  const atEnd = plannedRetries(plan).filter(({ offsetSeconds }) => offsetSeconds <= hours * 3600);
  const usd = (work: Work): number => computeBill(plan, countOperations(work), prices).usd;
  return {
    ...{ hours, share },
    deliveries: total(() => 1),
    exhausted: total(({ exhausted }) => (exhausted ? 1 : 0)),
    retries: {
      same_invocation: made('same_invocation'),
      sqs_delay: made('sqs_delay'),
      scheduler: made('scheduler'),
    },
    wakeUpsPerSecondAtEnd: perSecond * (count(atEnd, 'sqs_delay') + count(atEnd, 'scheduler')),
    schedulesPerSecondAtEnd: perSecond * count(atEnd, 'scheduler'),
    schedulesAtPeak: waiting('scheduler'),
    delayedMessagesAtPeak: waiting('sqs_delay'),
    /** From the end of the outage to the last retry. */
    drainSeconds: Math.max(0, ...affected.flatMap(next).map(({ delaySeconds }) => delaySeconds)),
    /** A bill multiplies by the days of a month, but the outage happens once. */
    extraUsd: (usd(outage) - usd(usual)) / DAYS_A_MONTH,
  };
}
