import { AWS_CALL_MS, compute, computeOf } from './compute.ts';
import type { OperationTable } from './operation-table.ts';
import type { Operations } from './operations.ts';
import { DAYS_A_MONTH, type Plan } from './plan.ts';
import { costOf, type Priced, type RegionPrices } from './prices.ts';

/** A line of the bill: so much of something in a month. */
export type Line = { what: Priced; quantity: number; usd: number };

export type Bill = {
  /** What grows with the traffic. */
  traffic: readonly Line[];
  /** What is there without any. */
  standing: readonly Line[];
  /** To the internet; whoever delivers pays it, so it is compared with nobody's. */
  dataOut: Line;
  usd: number;
  /** For a million deliveries, with everything but data out; and what of it is traffic. */
  perMillionDeliveries: { all: number; traffic: number };
};

const GIGABYTE = 1e9;
const MINUTES_A_DAY = 24 * 60;

/**
 * Lambda keeps five long polls of 20 s on a quiet queue, on the four that feed functions (Lambda developer guide, "Configuring
 * scaling behavior for SQS event source mappings").
 */
const IDLE_RECEIVES_A_MONTH = 4 * 5 * 3 * MINUTES_A_DAY * DAYS_A_MONTH;

/** Our own metrics as if each were written in every hour, which is the most that they cost; dashboards and alarms as deployed. */
export function billOf(
  plan: Plan,
  { operations, table }: { operations: Operations; table: OperationTable },
  prices: RegionPrices,
): Bill {
  const line = (what: Priced, quantity: number): Line => ({
    what,
    quantity,
    usd: costOf(prices, what, quantity),
  });
  const month = (aDay: number): number => aDay * DAYS_A_MONTH;
  const { dispatch, deliver } = computeOf(operations, table, plan);
  const stored = (operations.storedBytes * plan.retentionDays) / GIGABYTE;
  const traffic = [
    line('dynamodbWriteUnits', month(operations.writeUnits)),
    line('dynamodbReadUnits', month(operations.readUnits)),
    line('dynamodbStorage', stored),
    line('dynamodbBackup', stored),
    line('sqsRequests', month(operations.sqsRequests)),
    line('lambdaRequests', month(operations.invocations.dispatch + operations.invocations.deliver)),
    line('lambdaCompute', month(dispatch.gigabyteSeconds + deliver.gigabyteSeconds)),
    line('schedulerInvocations', month(operations.schedules)),
    line('events', month(operations.events)),
    line('s3Puts', month(operations.s3Puts)),
    line('s3Gets', month(operations.s3Gets)),
    line('s3Storage', (operations.s3Puts * plan.payloadBytes * plan.retentionDays) / GIGABYTE),
    line('kmsRequests', month(openings(plan, deliver.seconds, operations))),
    line('logs', month(operations.logBytes) / GIGABYTE),
  ];
  const standing = standingOf(table).map(([what, quantity]) => line(what, quantity));
  const dataOut = line('dataOut', month(operations.bytesOut) / GIGABYTE);
  const [trafficUsd, standingUsd] = [total(traffic), total(standing)];
  const millions = month(plan.messagesPerDay * plan.fanOut) / 1e6;
  return {
    traffic,
    standing,
    dataOut,
    usd: trafficUsd + standingUsd + dataOut.usd,
    perMillionDeliveries: { all: (trafficUsd + standingUsd) / millions, traffic: trafficUsd / millions },
  };
}

function total(lines: readonly Line[]): number {
  return lines.reduce((all, { usd }) => all + usd, 0);
}

/** A function opens the secret of each subscription once an hour (kms-signing-secrets.ts), as many as run at a time. */
function openings(
  { fanOut, peakFactor }: Plan,
  busySeconds: number,
  { attempts }: Pick<Operations, 'attempts'>,
): number {
  const running = Math.max(1, Math.ceil((busySeconds * peakFactor) / (MINUTES_A_DAY * 60)));
  return Math.min(attempts, 24 * fanOut * running);
}

function standingOf({
  perInvocation,
  reconcile,
  monitoring,
}: OperationTable): (readonly [what: Priced, quantity: number])[] {
  const runs = MINUTES_A_DAY * DAYS_A_MONTH;
  const { cpuMs, memoryMegabytes, logBytes } = perInvocation.reconcile;
  const run = compute(cpuMs, reconcile.awsCalls * AWS_CALL_MS, memoryMegabytes);
  return [
    ['dynamodbReadUnits', runs * reconcile.otherReadUnits],
    ['sqsRequests', IDLE_RECEIVES_A_MONTH],
    ['lambdaRequests', runs],
    ['lambdaCompute', runs * run.gigabyteSeconds],
    ['logs', (runs * logBytes) / GIGABYTE],
    ['kmsKeys', monitoring.keys],
    ['metrics', monitoring.metrics],
    ['alarmMetrics', monitoring.alarmMetrics],
    ['compositeAlarms', monitoring.compositeAlarms],
    ['dashboards', monitoring.dashboards],
  ];
}
