import type { GetMetricDataInput, GetMetricDataOutput, MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import * as z from 'zod';
import { pollUntil } from '../../../../local/poll-until.ts';
import { listDeliveriesOfSubscription } from '../../../../api-client/operations.ts';
import { MINUTE_MS } from '../../../../shared/domain/duration.ts';
import { buildPlan, DAYS_A_MONTH, parsePlanOptions, SECONDS_A_DAY } from '../../plan/load.ts';
import { type Bill, computePlan } from '../../plan/planned.ts';
import { builtInPrices, computeCost, type Priced, type RegionPrices } from '../../plan/prices.ts';
import { type Check, isNotPermitted, passed } from '../check.ts';
import { createQueue, requests, subscribe } from '../scenario.ts';
import { type DeployedStacks, listIndexes } from '../stacks.ts';
import type { World } from '../world.ts';

/** Messages in one call. */
const TOGETHER = 1000;

/** Deliveries whose latency is read. */
const SAMPLE = 1000;

/** Deliveries a second that any deployment makes. */
const SLOWEST = 2;

export const loadChecks: readonly Check[] = [
  {
    id: 'load',
    title: 'A load of deliveries, as --load says',
    // Four minutes of them for the metrics, which come late.
    seconds: 360,
    alone: true,
    run: async (world) => {
      const count = world.load ?? 100;
      const queue = await createQueue(world, 'load');
      const subscribed = await subscribe(world, queue);
      const startedAt = Date.now();
      for (let sent = 0; sent < count; sent += TOGETHER) {
        const size = Math.min(TOGETHER, count - sent);
        const messages = Array.from({ length: size }, (_, index) => ({
          queue,
          data: { number: sent + index },
        }));
        await world.publisher.publishBatch(messages, { signal: world.signal });
      }
      const seen = await requests(world, subscribed, count, 120 + count / SLOWEST);
      // In the order of their arrival.
      const took = ((seen.at(-1)?.at ?? startedAt) - startedAt) / 1000;
      const path = { queue, subscription: subscribed.subscription };
      const query = { since: new Date(startedAt).toISOString(), until: new Date().toISOString() };
      const { items } = await world.api.items(listDeliveriesOfSubscription, { path, query, most: SAMPLE });
      const latencies = items
        .flatMap(({ deliveredAfterMs }) => deliveredAfterMs ?? [])
        .toSorted((a, b) => a - b);
      const at = (part: number): string =>
        `${latencies[Math.floor(part * (latencies.length - 1))] ?? '?'} ms`;
      const repeats = seen.length - new Set(seen.map(({ messageId }) => messageId)).size;
      const quantities = await measure(world, startedAt, Date.now());
      return passed(
        `${count} deliveries in ${took.toFixed(1)} s: ${(count / took).toFixed(1)}/s; from acceptance to answer p50 ${at(0.5)}, p99 ${at(0.99)} of ${latencies.length}; ${repeats} repeated; ${describeBill(count, took, quantities)}`,
      );
    },
  },
];

const PRICES = builtInPrices.regions['us-east-1'];

/**
 * The bill of a month at the rate of a run by the defaults of `posthaste plan`, and beside it what was measured, or why it
 * was not. `took`: seconds.
 */
export function describeBill(count: number, took: number, quantities: Quantities | string): string {
  const perDay = Math.max(1, Math.round((count / took) * SECONDS_A_DAY));
  const { usd, traffic } = planBill(perDay);
  const planned = `a month at this rate costs about $${usd.toFixed(2)} by posthaste plan`;
  if (typeof quantities === 'string') return `${planned}; the bill was not measured here: ${quantities}`;
  const perMonth = perDay * DAYS_A_MONTH;
  const same = new Map(
    traffic.flatMap(({ what, quantity }) => (quantities.has(what) ? [[what, quantity]] : [])),
  );
  const describe = (perMillion: number): string =>
    `$${perMillion.toFixed(2)} a million deliveries, $${((perMillion * perMonth) / 1e6).toFixed(2)} a month`;
  const measured = describe(computeMillionCost(quantities, count, PRICES));
  const expected = describe(computeMillionCost(same, perMonth, PRICES));
  return `${planned}; of that Lambda, SQS and DynamoDB ${expected}, and as measured ${measured}`;
}

function planBill(perDay: number): Bill {
  const { region: _, ...load } = parsePlanOptions(['--messages-per-day', String(perDay)]);
  return computePlan(buildPlan(load), PRICES).bill;
}

/** The quantities of a run, or why there are none. */
async function measure(world: World, since: number, until: number): Promise<Quantities | string> {
  if (world.isLocal) return 'this AWS has no metrics of SQS and DynamoDB';
  const { CloudWatch } = await import('@aws-sdk/client-cloudwatch');
  const cloudWatch = new CloudWatch(world.deployment.client);
  try {
    const time = { since, until, signal: world.signal };
    const quantities = await readQuantities(
      (input) => cloudWatch.getMetricData(input),
      await world.stacks(),
      time,
    );
    return quantities ?? 'CloudWatch has no metrics of Lambda, SQS or DynamoDB after ten minutes';
  } catch (error) {
    // The load is measured all the same.
    if (error instanceof Error && isNotPermitted(error))
      return `your credentials do not permit it: ${error.message}`;
    throw error;
  }
}

/** Quantities that AWS charges for. */
export type Quantities = ReadonlyMap<Priced, number>;

/** Dollars for a million deliveries, from the quantities of some. */
export function computeMillionCost(quantities: Quantities, deliveries: number, prices: RegionPrices): number {
  const costs = [...quantities].map(([what, quantity]) => computeCost(prices, what, quantity));
  return (costs.reduce((sum, usd) => sum + usd, 0) / deliveries) * 1e6;
}

/** A metric whose sum, times `factor`, is a quantity. */
type Metric = {
  what: Priced;
  service: string;
  name: string;
  dimensions: Readonly<Record<string, string>>;
  factor?: number;
};

/** For the most part it takes three minutes until CloudWatch has the metrics of a minute. */
const WAIT = { withinMs: 600_000, interval: { floor: 60 } };

/**
 * The quantities of a time, from CloudWatch: once two readings are equal, because metrics come late. Undefined: not in time.
 * Other traffic of the deployment counts, too.
 */
export async function readQuantities(
  getMetricData: (input: GetMetricDataInput) => Promise<GetMetricDataOutput>,
  stacks: DeployedStacks,
  { since, until, signal }: { since: number; until: number; signal: AbortSignal },
  wait = WAIT,
): Promise<Quantities | undefined> {
  const metrics = listMetrics(stacks);
  const request = {
    MetricDataQueries: metrics.map(toQuery),
    StartTime: new Date(Math.floor(since / MINUTE_MS) * MINUTE_MS),
    EndTime: new Date(Math.ceil(until / MINUTE_MS) * MINUTE_MS),
  };
  let before = '';
  const look = async (): Promise<Quantities | undefined> => {
    const { MetricDataResults: results = [] } = await getMetricData(request);
    const sums = metrics.map((_, index) => {
      const { Values: values = [] } = results.find(({ Id: id }) => id === `m${index}`) ?? {};
      return values.reduce((sum, value) => sum + value, 0);
    });
    const [last, now] = [before, sums.join(' ')];
    before = now;
    const found = new Set(metrics.filter((_, index) => (sums[index] ?? 0) > 0).map(({ service }) => service));
    return now === last && found.size === SERVICES ? addUp(metrics, sums) : undefined;
  };
  return pollUntil(look, { ...wait, signal });
}

/** Lambda, SQS and DynamoDB: each has something to count in any run. */
const SERVICES = 3;

function listMetrics({ ofType }: DeployedStacks): Metric[] {
  const functions = ofType('AWS::Lambda::Function').flatMap(({ physicalId: FunctionName, properties }) => {
    const { MemorySize: megabytes } = functionSchema.parse(properties);
    const one = { service: 'AWS/Lambda', dimensions: { FunctionName } };
    return [
      { ...one, what: 'lambdaRequests', name: 'Invocations' },
      { ...one, what: 'lambdaCompute', name: 'Duration', factor: megabytes / 1024 / 1000 },
    ] as const;
  });
  const queues = ofType('AWS::SQS::Queue').flatMap(({ physicalId: url }) => {
    const dimensions = { QueueName: url.slice(url.lastIndexOf('/') + 1) };
    // Of a batch, each message counts as a request: AWS has no metric of requests.
    return [
      'NumberOfMessagesSent',
      'NumberOfMessagesReceived',
      'NumberOfMessagesDeleted',
      'NumberOfEmptyReceives',
    ].map((name): Metric => ({ what: 'sqsRequests', service: 'AWS/SQS', name, dimensions }));
  });
  const tables = ofType('AWS::DynamoDB::GlobalTable').flatMap((table) => {
    const ofTable = { TableName: table.physicalId };
    const indexes = listIndexes(table).map((name) => ({ ...ofTable, GlobalSecondaryIndexName: name }));
    return [ofTable, ...indexes].flatMap((dimensions) => {
      const one = { service: 'AWS/DynamoDB', dimensions };
      return [
        { ...one, what: 'dynamodbWriteUnits', name: 'ConsumedWriteCapacityUnits' },
        { ...one, what: 'dynamodbReadUnits', name: 'ConsumedReadCapacityUnits' },
      ] as const;
    });
  });
  return [...functions, ...queues, ...tables];
}

/** CloudFormation gives a function 128 MB by default. */
const functionSchema = z.object({ MemorySize: z.number().default(128) });

function toQuery({ service, name, dimensions }: Metric, index: number): MetricDataQuery {
  const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }));
  const Metric = { Namespace: service, MetricName: name, Dimensions };
  return { Id: `m${index}`, MetricStat: { Metric, Period: 60, Stat: 'Sum' } };
}

function addUp(metrics: readonly Metric[], sums: readonly number[]): Quantities {
  const quantities = new Map<Priced, number>();
  for (const [index, { what, factor = 1 }] of metrics.entries())
    quantities.set(what, (quantities.get(what) ?? 0) + (sums[index] ?? 0) * factor);
  return quantities;
}
