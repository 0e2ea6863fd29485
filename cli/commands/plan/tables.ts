import { z } from 'zod';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { parsedJson } from '../../options/arguments.ts';
import measured from './operations.json' with { type: 'json' };
import listPrices from './prices.json' with { type: 'json' };

/** What is counted for a step; a missing counter is 0. */
export const counters = [
  // Writes of items whose size depends on the plan, including refused writes. The plan converts them to write units.
  'deliveryWrites',
  'messageWrites',
  'messageReads',
  'otherWriteUnits',
  'indexWriteUnits',
  'otherReadUnits',
  // SQS sends, counted as if each message were sent separately, and the messages among them that can share a request.
  'sendRequests',
  'joinedMessages',
  'retryRecords',
  'schedules',
  'kmsRequests',
  's3Puts',
  's3Gets',
  'events',
  // All AWS calls, because each takes time.
  'awsCalls',
  'attempts',
  'logBytes',
  'cpuMs',
] as const;

/** The steps of a message and its deliveries. Fixed costs of an invocation are in `perInvocation` and `sharedReads`. */
export const stepNames = [
  // dispatch: a message without its sends; each matching subscription; each job.
  'message',
  'subscription',
  'job',
  // deliver: a first success in a single job; a chunk without the writes of its item; each first success in a chunk.
  'delivered',
  'chunk',
  'member',
  // The additional cost of a first failure in a single job; the whole cost of a first failure in a chunk.
  'firstFailure',
  'failedMember',
  // A further failed attempt and the retry after it, by mechanism.
  'same_invocation',
  'sqs_delay',
  'scheduler',
  'exhaustion',
  // Additions for a body in S3: to a message and an attempt above 64 KB; to a first failure and a retry above 8 KB.
  'bucketMessage',
  'bucketAttempt',
  'bucketFirstFailure',
  'bucketRetry',
] as const;

const units = z.partialRecord(z.enum(counters), z.number());
const read = z.object({ units: z.number(), calls: z.number() });
const perInvocation = z.object({ memoryMegabytes: z.number(), logBytes: z.number(), cpuMs: z.number() });
/** Bytes of a chunk's item or job: the fixed part, and the part per member. */
const byMembers = z.object({ shared: z.number(), member: z.number() });

export const operationTableSchema = z.object({
  measuredAt: z.iso.datetime(),
  machine: z.object({ cpus: z.number(), model: z.string(), node: z.string(), memoryGigabytes: z.number() }),
  /** The settings of the measured deployment that change the counts. */
  settings: z.record(z.string(), z.string()),
  steps: z.record(z.enum(stepNames), units),
  perInvocation: z.object({ dispatch: perInvocation, deliver: perInvocation, reconcile: perInvocation }),
  /** Reads that the records of one invocation share. */
  sharedReads: z.object({ dispatch: read, furtherSubscription: read, queue: read, subscription: read }),
  /** One run of reconcile that finds nothing overdue. */
  reconcile: units,
  /** Bytes of a DELIVERY item after attempt 1, 2, … */
  deliveryItemBytes: z.array(z.number()).min(2),
  chunkItemBytes: z.object({ claimed: byMembers, recorded: byMembers }),
  /** Bytes of a MESSAGE item without a body. */
  messageItemBytes: z.number(),
  /** Bytes around the payload. */
  envelopeBytes: z.object({
    ingress: z.number(),
    job: z.number(),
    chunkJob: byMembers,
    wakeUp: z.number(),
    request: z.number(),
  }),
  monitoring: z.object({
    /** CloudWatch charges for each metric of each alarm. */
    alarmMetrics: z.number(),
    compositeAlarms: z.number(),
    dashboards: z.number(),
    keys: z.number(),
  }),
});

export type Units = z.output<typeof units>;
export type OperationTable = z.output<typeof operationTableSchema>;

/** The measurements of the last `npm run bench:operations`. */
export function operationTable(): OperationTable {
  return operationTableSchema.parse(measured);
}

/** Sizes of billing units (the pricing pages of DynamoDB, SQS, SNS and EventBridge). */
const KILOBYTE = 1024;
export const WRITE_UNIT = KILOBYTE;
export const READ_UNIT = 4 * KILOBYTE;
export const REQUEST_UNIT = 64 * KILOBYTE;

/** The number of billing units, rounded up, at least one. */
export function unitsOf(bytes: number, unit: number): number {
  return Math.max(1, Math.ceil(bytes / unit));
}

/** Everything with a price, and its label on the bill. */
export const lineNames = [
  ['dynamodbWriteUnits', 'DynamoDB, write units'],
  ['dynamodbReadUnits', 'DynamoDB, read units'],
  ['dynamodbStorage', 'DynamoDB, GB stored'],
  ['dynamodbBackup', 'DynamoDB, GB in point-in-time recovery'],
  ['sqsRequests', 'SQS, requests'],
  ['sqsGroupedRequests', 'SQS, requests with a group (fair queues)'],
  ['lambdaRequests', 'Lambda, invocations'],
  ['lambdaCompute', 'Lambda, GB-seconds'],
  ['schedulerInvocations', 'EventBridge Scheduler, schedules'],
  ['events', 'EventBridge, events'],
  ['s3Puts', 'S3, objects put'],
  ['s3Gets', 'S3, objects fetched'],
  ['s3Storage', 'S3, GB stored'],
  ['kmsRequests', 'KMS, requests'],
  ['kmsKeys', 'KMS, keys'],
  ['logs', 'CloudWatch Logs, GB'],
  ['metrics', 'CloudWatch, metrics'],
  ['alarmMetrics', 'CloudWatch, alarm metrics'],
  ['compositeAlarms', 'CloudWatch, composite alarms'],
  ['dashboards', 'CloudWatch, dashboards'],
  ['dataOut', 'Data out to the internet, GB'],
  ['snsPublishes', 'SNS, publishes'],
  ['snsHttpDeliveries', 'SNS, HTTP deliveries'],
  ['apiDestinations', 'EventBridge, API destinations'],
] as const;

export type Priced = (typeof lineNames)[number][0];

const price = z.strictObject({
  usd: z.number('must be a number of dollars').nonnegative('must not be negative'),
  per: z.number('must be a number').positive('must be above 0'),
  unit: z.string().min(1),
  source: z.string().min(1),
});

const regionPricesSchema = z.record(z.enum(lineNames.map(([what]) => what)), price);

/** List prices, without free tiers, discounts and volume tiers. */
export const pricesSchema = z.strictObject({
  asOf: z.iso.date(),
  regions: z.record(z.string(), regionPricesSchema),
});

export type RegionPrices = z.output<typeof regionPricesSchema>;

/** Cost in US dollars. */
export function costOf(prices: RegionPrices, what: Priced, quantity: number): number {
  return (quantity * prices[what].usd) / prices[what].per;
}

export type Validated<Value> = { ok: true; value: Value } | { ok: false; fields: FieldError[] };

/** The prices of a region, from `given` (JSON of the same form) or from the built-in file. */
export function regionPrices(
  region: string,
  given?: string,
): Validated<{ asOf: string; prices: RegionPrices }> {
  const source = given === undefined ? { ok: true as const, value: listPrices } : parsedJson(given);
  if (!source.ok) return { ok: false, fields: [{ field: 'prices', message: source.message }] };
  const prices = pricesSchema.safeParse(source.value);
  if (!prices.success) {
    const fieldOf = ({ path, message }: z.core.$ZodIssue): FieldError => ({
      field: ['prices', ...path.map(String)].join('.'),
      message,
    });
    return { ok: false, fields: prices.error.issues.map(fieldOf) };
  }
  const { asOf, regions } = prices.data;
  const found = regions[region];
  if (found !== undefined) return { ok: true, value: { asOf, prices: found } };
  const message = `has no prices: ${region}. Known regions: ${Object.keys(regions).join(', ')}. Give prices of other regions with --prices`;
  return { ok: false, fields: [{ field: 'region', message }] };
}
