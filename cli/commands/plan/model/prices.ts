import { z } from 'zod';

/** What is paid for; each has a price. */
export const priced = [
  'dynamodbWriteUnits',
  'dynamodbReadUnits',
  'dynamodbStorage',
  'dynamodbBackup',
  'sqsRequests',
  'lambdaRequests',
  'lambdaCompute',
  'schedulerInvocations',
  'events',
  's3Puts',
  's3Gets',
  's3Storage',
  'kmsRequests',
  'kmsKeys',
  'logs',
  'metrics',
  'alarmMetrics',
  'compositeAlarms',
  'dashboards',
  'dataOut',
  'snsPublishes',
  'snsHttpDeliveries',
  'apiDestinations',
] as const;

export type Priced = (typeof priced)[number];

const price = z.strictObject({
  usd: z.number('must be a number of dollars').nonnegative('must not be negative'),
  per: z.number('must be a number').positive('must be above 0'),
  /** Of what, in words. */
  unit: z.string().min(1),
  /** Where it was read. */
  source: z.string().min(1),
});

const regionPrices = z.record(z.enum(priced), price);

/** List prices without free tiers, discounts and the tiers of large volumes. */
export const pricesSchema = z.strictObject({
  asOf: z.iso.date(),
  regions: z.record(z.string(), regionPrices),
});

export type Prices = z.output<typeof pricesSchema>;
export type RegionPrices = z.output<typeof regionPrices>;

/** In dollars. */
export function costOf(prices: RegionPrices, what: Priced, quantity: number): number {
  return (quantity * prices[what].usd) / prices[what].per;
}
