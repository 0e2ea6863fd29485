import { z } from 'zod';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { parsedJson } from '../../options/arguments.ts';

/** Sizes of billing units (the pricing pages of DynamoDB, SQS, SNS and EventBridge). */
const KILOBYTE = 1024;
export const WRITE_UNIT = KILOBYTE;
export const READ_UNIT = 4 * KILOBYTE;
export const REQUEST_UNIT = 64 * KILOBYTE;

/** The number of billing units, rounded up, at least one. */
export function countUnits(bytes: number, unit: number): number {
  return Math.max(1, Math.ceil(bytes / unit));
}

const MILLION = 1e6;

/** Everything with a price: its name, its label on the bill, and the list price in US dollars for how many. */
const listPrices = [
  // https://aws.amazon.com/dynamodb/pricing/on-demand/
  ['dynamodbWriteUnits', 'DynamoDB, write units', 0.625, MILLION],
  ['dynamodbReadUnits', 'DynamoDB, read units', 0.125, MILLION],
  ['dynamodbStorage', 'DynamoDB, GB stored', 0.25, 1], // the first 25 GB a month not taken off
  ['dynamodbBackup', 'DynamoDB, GB in point-in-time recovery', 0.2, 1],
  // https://aws.amazon.com/sqs/pricing/
  ['sqsRequests', 'SQS, requests', 0.4, MILLION], // of 64 KB, standard queues
  ['sqsGroupedRequests', 'SQS, requests with a group (fair queues)', 0.1, MILLION], // beside their own price
  // https://aws.amazon.com/lambda/pricing/
  ['lambdaRequests', 'Lambda, invocations', 0.2, MILLION],
  ['lambdaCompute', 'Lambda, GB-seconds', 1.333_34e-5, 1], // arm64, first tier
  // https://aws.amazon.com/fargate/pricing/
  ['fargateProcessorHours', 'Fargate, vCPU-hours', 0.032_38, 1], // Linux on ARM
  ['fargateGigabyteHours', 'Fargate, GB-hours', 0.003_56, 1], // Linux on ARM
  // https://aws.amazon.com/api-gateway/pricing/
  ['apiRequests', 'API Gateway, requests', 1, MILLION], // of 512 KB, HTTP APIs, first tier
  // https://aws.amazon.com/eventbridge/pricing/
  ['schedulerInvocations', 'EventBridge Scheduler, schedules', 1, MILLION], // carried out
  ['events', 'EventBridge, events', 1, MILLION], // of 64 KB, custom
  // https://aws.amazon.com/s3/pricing/
  ['s3Puts', 'S3, objects put', 0.005, 1_000], // S3 Standard
  ['s3Gets', 'S3, objects fetched', 0.0004, 1_000], // S3 Standard
  ['s3Storage', 'S3, GB stored', 0.023, 1], // S3 Standard, first tier
  // https://aws.amazon.com/kms/pricing/
  ['kmsRequests', 'KMS, requests', 0.03, 10_000], // symmetric keys
  ['kmsKeys', 'KMS, keys', 1, 1],
  // https://aws.amazon.com/cloudwatch/pricing/
  ['logs', 'CloudWatch Logs, GB', 0.5, 1], // Standard class
  ['metrics', 'CloudWatch, metrics', 0.3, 1], // first tier
  ['alarmMetrics', 'CloudWatch, alarm metrics', 0.1, 1], // metrics that an alarm looks at
  ['compositeAlarms', 'CloudWatch, composite alarms', 0.5, 1],
  ['dashboards', 'CloudWatch, dashboards', 3, 1], // the first three not taken off
  // https://aws.amazon.com/ec2/pricing/on-demand/
  ['dataOut', 'Data out to the internet, GB', 0.09, 1], // first tier
  // https://aws.amazon.com/sns/pricing/
  ['snsPublishes', 'SNS, publishes', 0.5, MILLION], // of 64 KB
  ['snsHttpDeliveries', 'SNS, HTTP deliveries', 0.6, MILLION],
  // https://aws.amazon.com/eventbridge/pricing/
  ['apiDestinations', 'EventBridge, API destinations', 0.2, MILLION],
] as const;

export type Priced = (typeof listPrices)[number][0];

export const labels = new Map<Priced, string>(listPrices.map(([what, label]) => [what, label]));

const price = z.strictObject({
  usd: z.number('must be a number of dollars').nonnegative('must not be negative'),
  per: z.number('must be a number').positive('must be above 0'),
  unit: z.string().min(1).optional(),
  source: z.string().min(1).optional(),
});

const regionPricesSchema = z.record(z.enum([...labels.keys()]), price);

/** The form of a file for --prices. */
const pricesSchema = z.strictObject({
  asOf: z.iso.date(),
  regions: z.record(z.string(), regionPricesSchema),
});

export type RegionPrices = z.output<typeof regionPricesSchema>;

/** Those of us-east-1, without free tiers, discounts and volume tiers. */
export const builtInPrices = {
  asOf: '2026-06-13',
  regions: {
    'us-east-1': regionPricesSchema.parse(
      Object.fromEntries(listPrices.map(([what, , usd, per]) => [what, { usd, per }])),
    ),
  },
};

/** Cost in US dollars. */
export function computeCost(prices: RegionPrices, what: Priced, quantity: number): number {
  return (quantity * prices[what].usd) / prices[what].per;
}

/** The prices of a region, from `given` (JSON of the same form) or the built-in ones. */
export function regionPrices(region: string, given?: string) {
  const refused = (...fields: FieldError[]) => ({ ok: false as const, fields });
  const source = given === undefined ? { ok: true as const, value: builtInPrices } : parsedJson(given);
  if (!source.ok) return refused({ field: 'prices', message: source.message });
  const { data, error } = pricesSchema.safeParse(source.value);
  if (error !== undefined)
    return refused(
      ...error.issues.map(({ path, message }) => ({ field: ['prices', ...path].join('.'), message })),
    );
  const { asOf, regions } = data;
  const found = regions[region];
  if (found !== undefined) return { ok: true as const, value: { asOf, prices: found } };
  const message = `has no prices: ${region}. Known regions: ${Object.keys(regions).join(', ')}. Give prices of other regions with --prices`;
  return refused({ field: 'region', message });
}
