import { metricNames, metricsOfWorkers } from '../../../shared/config/metrics.ts';
import type { Operations } from './operations.ts';
import {
  costOf,
  REQUEST_UNIT,
  unitsOf,
  type OperationTable,
  type Priced,
  type RegionPrices,
} from './tables.ts';
import { DAYS_A_MONTH, SECONDS_A_DAY, type Plan } from './work.ts';

/** A line of the bill: the quantity of a month, and its cost. */
export type Line = { what: Priced; quantity: number; usd: number };

export type Bill = {
  /** Costs that grow with the traffic. */
  traffic: readonly Line[];
  /** Costs without any traffic. */
  standing: readonly Line[];
  /** Data transfer to the internet. Every service charges it, so comparisons exclude it. */
  dataOut: Line;
  usd: number;
  /** Without data out: all costs, and those of the traffic alone. */
  perMillionDeliveries: { all: number; traffic: number };
};

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

/** Memory size at which a function has a full vCPU (Lambda developer guide, "Memory"). */
const MEGABYTES_OF_ONE_PROCESSOR = 1769;

/** Duration of an AWS call within a region. An assumption: the local AWS cannot measure it. */
const AWS_CALL_MS = 5;

/** The bill of a month. Custom metrics are charged as if each were written every hour, which is an upper bound. */
export function billOf(
  plan: Plan,
  operations: Operations,
  { table, prices }: { table: OperationTable; prices: RegionPrices },
): Bill {
  const line = ([what, quantity]: readonly [Priced, number]): Line => ({
    what,
    quantity,
    usd: costOf(prices, what, quantity),
  });
  const month = (aDay: number): number => aDay * DAYS_A_MONTH;
  const { dispatch, deliver } = computeOf(plan, operations, table);
  const { invocations, s3Puts } = operations;
  const stored = (operations.storedBytes * plan.retentionDays) / GIGABYTE;
  const traffic = [
    line(['dynamodbWriteUnits', month(operations.writeUnits)]),
    line(['dynamodbReadUnits', month(operations.readUnits)]),
    line(['dynamodbStorage', stored]),
    line(['dynamodbBackup', stored]),
    line(['sqsRequests', month(operations.sqsRequests)]),
    line(['sqsGroupedRequests', month(operations.sqsGroupedRequests)]),
    line(['lambdaRequests', month(invocations.dispatch + invocations.deliver)]),
    line(['lambdaCompute', month(dispatch.gigabyteSeconds + deliver.gigabyteSeconds)]),
    line(['schedulerInvocations', month(operations.schedules)]),
    line(['events', month(operations.events)]),
    line(['s3Puts', month(s3Puts)]),
    line(['s3Gets', month(operations.s3Gets)]),
    line(['s3Storage', (s3Puts * plan.payloadBytes * plan.retentionDays) / GIGABYTE]),
    line(['kmsRequests', month(secretsOpened(plan, deliver.seconds, operations.attempts))]),
    line(['logs', month(operations.logBytes) / GIGABYTE]),
  ];
  const standing = standingOf(table).map(line);
  const dataOut = line(['dataOut', month(operations.bytesOut) / GIGABYTE]);
  const [trafficUsd, standingUsd] = [total(traffic), total(standing)];
  const millions = month(plan.messagesPerDay * plan.fanOut) / MILLION;
  return {
    traffic,
    standing,
    dataOut,
    usd: trafficUsd + standingUsd + dataOut.usd,
    perMillionDeliveries: { all: (trafficUsd + standingUsd) / millions, traffic: trafficUsd / millions },
  };
}

/**
 * Function durations in seconds and gigabyte-seconds: CPU time divided by the share of a vCPU that the memory buys,
 * plus waiting.
 */
export function computeOf(
  plan: Plan,
  { invocations, cpuMs, waits }: Operations,
  { perInvocation }: OperationTable,
) {
  const of = (name: 'dispatch' | 'deliver') => {
    const { awsCalls, attempts, failedAttempts } = waits[name];
    const subscribersMs =
      (attempts - failedAttempts) * plan.attemptMs + failedAttempts * plan.failedAttemptMs;
    const busyMs = cpuMs[name] + invocations[name] * perInvocation[name].cpuMs;
    return compute(busyMs, awsCalls * AWS_CALL_MS + subscribersMs, perInvocation[name].memoryMegabytes);
  };
  return { dispatch: of('dispatch'), deliver: of('deliver') };
}

function compute(busyMs: number, waitingMs: number, memoryMegabytes: number) {
  const share = Math.min(1, memoryMegabytes / MEGABYTES_OF_ONE_PROCESSOR);
  const seconds = (Math.max(0, busyMs) / share + waitingMs) / 1000;
  return { seconds, gigabyteSeconds: (seconds * memoryMegabytes) / 1024 };
}

/**
 * KMS requests: each instance of deliver decrypts the secret of each subscription once an hour
 * (shared/adapters/kms/signing-secrets.ts).
 */
function secretsOpened({ fanOut, peakFactor }: Plan, busySeconds: number, attempts: number): number {
  const running = Math.max(1, Math.ceil((busySeconds * peakFactor) / SECONDS_A_DAY));
  return Math.min(attempts, 24 * fanOut * running);
}

function standingOf({ perInvocation, reconcile, monitoring }: OperationTable): (readonly [Priced, number])[] {
  const { cpuMs, memoryMegabytes, logBytes } = perInvocation.reconcile;
  const run = compute(cpuMs, (reconcile.awsCalls ?? 0) * AWS_CALL_MS, memoryMegabytes);
  return [
    ['dynamodbReadUnits', MINUTES_A_MONTH * (reconcile.otherReadUnits ?? 0)],
    ['sqsRequests', IDLE_RECEIVES_A_MONTH],
    ['lambdaRequests', MINUTES_A_MONTH],
    ['lambdaCompute', MINUTES_A_MONTH * run.gigabyteSeconds],
    ['logs', (MINUTES_A_MONTH * logBytes) / GIGABYTE],
    ['kmsKeys', monitoring.keys],
    ['metrics', Object.keys(metricNames).length - metricsOfWorkers.size],
    ['alarmMetrics', monitoring.alarmMetrics],
    ['compositeAlarms', monitoring.compositeAlarms],
    ['dashboards', monitoring.dashboards],
  ];
}

function total(lines: readonly Line[]): number {
  return lines.reduce((all, { usd }) => all + usd, 0);
}

/** Prices of comparable services, from the price lists. Neither list names a charge for retries. */
export function peersOf({ fanOut, payloadBytes }: Plan, prices: RegionPrices): PeerCost[] {
  const published = (unitsOf(payloadBytes, REQUEST_UNIT) * MILLION) / fanOut;
  const cost = (publish: Priced, deliver: Priced): number =>
    costOf(prices, publish, published) + costOf(prices, deliver, MILLION);
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
