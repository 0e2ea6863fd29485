import { metricNames, metricsOfWorkers } from '../../../shared/config/metrics.ts';
import { computeDuration, type Operations } from './operations.ts';
import { computeCost, REQUEST_UNIT, countUnits, type Priced, type RegionPrices } from './prices.ts';
import { invocation, monitoring, worker } from './quantities.ts';
import { DAYS_A_MONTH, type Plan } from './work.ts';

/** A line of the bill: the quantity of a month, and its cost. */
export type Line = { what: Priced; quantity: number; usd: number };

export type Bill = ReturnType<typeof computeBill>;

/** The price of a comparable AWS service for a million deliveries of the same messages, without data out. */
export type PeerCost = { peer: 'sns_http' | 'api_destinations'; perMillionDeliveries: number; note: string };

const GIGABYTE = 1e9;
const MILLION = 1e6;
const MINUTES_A_MONTH = 24 * 60 * DAYS_A_MONTH;

/**
 * Lambda keeps five long polls of 20 s on each of the four queues (developer guide, "Configuring scaling behavior for
 * SQS event source mappings").
 */
const IDLE_RECEIVES_A_MONTH = 4 * 5 * 3 * MINUTES_A_MONTH;

/** Reconcile writes two gauges at each run; functions write all other metrics only with traffic. */
const STANDING_METRICS = 2;

/** The bill of a month. Custom metrics are charged as if each were written every hour, which is an upper bound. */
export function computeBill(plan: Plan, operations: Operations, prices: RegionPrices) {
  const line = ([what, quantity]: readonly [Priced, number]): Line => ({
    what,
    quantity,
    usd: computeCost(prices, what, quantity),
  });
  const month = (aDay: number): number => aDay * DAYS_A_MONTH;
  const { invocations, seconds, s3Puts } = operations;
  const gigabyteSeconds = (name: keyof typeof invocation, takenSeconds: number): number =>
    (takenSeconds * plan.memoryMegabytes[name]) / 1024;
  const { workers } = plan;
  const compute = gigabyteSeconds('dispatch', seconds.dispatch) + gigabyteSeconds('deliver', seconds.deliver);
  const onFunctions = (quantity: number): number => (workers > 0 ? 0 : quantity);
  const stored = (operations.storedBytes * plan.retentionDays) / GIGABYTE;
  const ofTraffic: (readonly [Priced, number])[] = [
    ['dynamodbWriteUnits', month(operations.writeUnits)],
    ['dynamodbReadUnits', month(operations.readUnits)],
    ['dynamodbStorage', stored],
    ['dynamodbBackup', stored],
    ['sqsRequests', month(operations.sqsRequests)],
    ['sqsGroupedRequests', month(operations.sqsGroupedRequests)],
    ['lambdaRequests', month(onFunctions(invocations.dispatch + invocations.deliver) + invocations.api)],
    ['lambdaCompute', month(onFunctions(compute) + gigabyteSeconds('api', seconds.api))],
    ['apiRequests', month(invocations.api)],
    ['schedulerInvocations', month(operations.schedules)],
    ['events', month(operations.events)],
    ['s3Puts', month(s3Puts)],
    ['s3Gets', month(operations.s3Gets)],
    ['s3Storage', (s3Puts * plan.payloadBytes * plan.retentionDays) / GIGABYTE],
    ['kmsRequests', month(operations.kmsRequests)],
    ['logs', month(operations.logBytes) / GIGABYTE],
    ['metrics', Object.keys(metricNames).length - metricsOfWorkers.size - STANDING_METRICS],
  ];
  const { cpu, log, reads, calls } = invocation.reconcile;
  const reconciling = MINUTES_A_MONTH * computeDuration(plan.memoryMegabytes.reconcile, cpu, calls);
  const workerHours = (MINUTES_A_MONTH / 60) * workers;
  // Each worker reconciles, too.
  const runs = MINUTES_A_MONTH * Math.max(1, workers);
  const fixed: (readonly [Priced, number])[] = [
    ['dynamodbReadUnits', runs * reads],
    ['sqsRequests', workers > 0 ? workerHours * 3600 * worker.receivesPerSecond : IDLE_RECEIVES_A_MONTH],
    ['lambdaRequests', onFunctions(MINUTES_A_MONTH)],
    ['lambdaCompute', onFunctions(gigabyteSeconds('reconcile', reconciling))],
    ['fargateProcessorHours', workerHours * worker.processors],
    ['fargateGigabyteHours', workerHours * worker.gigabytes],
    ['logs', (runs * log) / GIGABYTE],
    ['kmsKeys', monitoring.keys],
    ['metrics', STANDING_METRICS + (workers > 0 ? metricsOfWorkers.size : 0)],
    ['alarmMetrics', monitoring.alarmMetrics],
    ['compositeAlarms', monitoring.compositeAlarms],
    ['dashboards', monitoring.dashboards],
  ];
  const [traffic, standing] = [ofTraffic.map(line), fixed.map(line)];
  const dataOut = line(['dataOut', month(operations.bytesOut) / GIGABYTE]);
  const [trafficUsd, standingUsd] = [total(traffic), total(standing)];
  const millions = month(plan.messagesPerDay * plan.fanOut) / MILLION;
  return {
    /** Costs that grow with the traffic, and those without any. */
    traffic,
    standing,
    /** Data transfer to the internet. Every service charges it, so comparisons exclude it. */
    dataOut,
    usd: trafficUsd + standingUsd + dataOut.usd,
    /** Without data out: all costs, and those of the traffic alone. */
    perMillionDeliveries: { all: (trafficUsd + standingUsd) / millions, traffic: trafficUsd / millions },
  };
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

function total(lines: readonly Line[]): number {
  return lines.reduce((all, { usd }) => all + usd, 0);
}

/** Prices of comparable services, from the price lists. Neither list names a charge for retries. */
export function pricePeers({ fanOut, payloadBytes }: Plan, prices: RegionPrices): PeerCost[] {
  const published = (countUnits(payloadBytes, REQUEST_UNIT) * MILLION) / fanOut;
  const cost = (publish: Priced, deliver: Priced): number =>
    computeCost(prices, publish, published) + computeCost(prices, deliver, MILLION);
  return [
    {
      peer: 'sns_http',
      perMillionDeliveries: cost('snsPublishes', 'snsHttpDeliveries'),
      note: 'messages up to 256 KB, retries for at most an hour, no queryable record of deliveries',
    },
    {
      peer: 'api_destinations',
      perMillionDeliveries: cost('events', 'apiDestinations'),
      note: 'one rule per subscriber, five targets per rule, at most 24 hours and 185 retries, timeout 5 s, no queryable record of deliveries',
    },
  ];
}
