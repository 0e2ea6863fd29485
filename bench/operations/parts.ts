import { chunkWriteUnits } from '../../cli/commands/plan/model/chunk-records.ts';
import { computeOf } from '../../cli/commands/plan/model/compute.ts';
import { delivering } from '../../cli/commands/plan/model/delivering.ts';
import { dispatching } from '../../cli/commands/plan/model/dispatching.ts';
import { jobsOf } from '../../cli/commands/plan/model/jobs.ts';
import type { OperationTable } from '../../cli/commands/plan/model/operation-table.ts';
import { operationsOf } from '../../cli/commands/plan/model/operations.ts';
import { DAYS_A_MONTH, type Plan } from '../../cli/commands/plan/model/plan.ts';
import { costOf, type Priced, type RegionPrices } from '../../cli/commands/plan/model/prices.ts';
import { sqsRequests } from '../../cli/commands/plan/model/sqs-requests.ts';
import { stepsOf } from '../../cli/commands/plan/model/steps.ts';
import { deliveryBytes, unitsOf, WRITE_UNIT } from '../../cli/commands/plan/model/weight.ts';
import { workOfDay } from '../../cli/commands/plan/model/work.ts';

/** A part of what a delivery costs, by what it is there for, in dollars for a million deliveries. */
export type Part = { part: string; usd: number };

const GIGABYTE = 1e9;
const GIGABYTE_MS = 1024 * 1000;

/**
 * Of a plan in which every delivery succeeds at once, with messages that travel in their jobs. Together they are what grows
 * with its traffic, but for the opening of secrets, which comes to nothing.
 */
export const partsOf = (plan: Plan, table: OperationTable, prices: RegionPrices): Part[] => {
  const work = workOfDay(plan);
  const jobs = jobsOf(work);
  const steps = stepsOf(table);
  const operations = operationsOf(work, table);
  const [dispatch, deliver] = [dispatching(work, jobs, steps), delivering(work, jobs, { steps, table })];
  const sqs = sqsRequests(work, jobs, { table, dispatch: dispatch.units, deliver: deliver.units });
  const compute = computeOf(operations, table, plan);
  const part = (name: string, ...counts: readonly (readonly [what: Priced, count: number])[]): Part => ({
    part: name,
    usd: counts.reduce(
      (total, [what, count]) => total + costOf(prices, what, (count / (work.messages * work.fanOut)) * 1e6),
      0,
    ),
  });
  const { messages } = work;
  const single = messages * jobs.singles * unitsOf(deliveryBytes(table, 1), WRITE_UNIT);
  const chunks = messages * jobs.chunks;
  const claims = chunks * chunkWriteUnits(jobs, 0, table) + single;
  const message = messages * unitsOf(table.messageItemBytes, WRITE_UNIT);
  const index = dispatch.units.indexWriteUnits;
  const waiting =
    (operations.waits.deliver.attempts * plan.attemptMs * table.perInvocation.deliver.memoryMegabytes) /
    GIGABYTE_MS;
  const dispatchLog =
    dispatch.units.logBytes + operations.invocations.dispatch * table.perInvocation.dispatch.logBytes;
  const stored = (operations.storedBytes * plan.retentionDays) / DAYS_A_MONTH / GIGABYTE;
  return [
    part('MESSAGE item', ['dynamodbWriteUnits', message]),
    part('Index by hour', ['dynamodbWriteUnits', index]),
    part('Claim', ['dynamodbWriteUnits', claims]),
    part('Record of the attempt', ['dynamodbWriteUnits', operations.writeUnits - message - index - claims]),
    part('Records kept', ['dynamodbStorage', stored]),
    part('Their backup to any second', ['dynamodbBackup', stored]),
    part('Queue and subscriptions read', ['dynamodbReadUnits', operations.readUnits]),
    part('The producer sends', ['sqsRequests', sqs.producer]),
    part('From the ingress queue into dispatch', ['sqsRequests', sqs.ingress]),
    part('Jobs to the delivery queue, into deliver', ['sqsRequests', sqs.jobs + sqs.delivery]),
    part(
      'dispatch runs',
      ['lambdaRequests', operations.invocations.dispatch],
      ['lambdaCompute', compute.dispatch.gigabyteSeconds],
    ),
    part('deliver waits for subscribers', ['lambdaCompute', waiting]),
    part(
      'deliver runs else',
      ['lambdaRequests', operations.invocations.deliver],
      ['lambdaCompute', compute.deliver.gigabyteSeconds - waiting],
    ),
    part('Log and metrics of dispatch', ['logs', dispatchLog / GIGABYTE]),
    part('Log and metrics of deliver', ['logs', (operations.logBytes - dispatchLog) / GIGABYTE]),
  ];
};
