import type { GetMetricDataInput, GetMetricDataOutput, MetricDataQuery } from '@aws-sdk/client-cloudwatch';
import * as z from 'zod';
import { pollUntil } from '../../../local/poll-until.ts';
import { computeCost, type Priced, type RegionPrices } from '../plan/prices.ts';
import { type DeployedStacks, listIndexes } from './stacks.ts';

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

const MINUTE_MS = 60_000;

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
