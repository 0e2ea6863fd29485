import * as z from 'zod';
import { deliveryIndexes, ttlAttribute } from '../../config/tables.ts';
import type { Delivery, NextAttempt } from '../../domain/delivery/delivery.ts';
import { completePolicySchema, type RetryPolicy } from '../../domain/retry/policy.ts';
import { MECHANISMS, OWED, PHASES, STATUSES } from '../../domain/vocabulary.ts';
import { attemptItemOf, attemptItemSchema } from './attempt-item.ts';
import {
  deliveryKeyOf,
  isListed,
  itemKeyOf,
  listingPartitionsOf,
  notDeliveredSortOf,
  overduePartitionOf,
} from './delivery-keys.ts';
import { decoded, decodedRecord, lengthened, RECORD_VERSION, shortened, ttlOf } from './record.ts';

const policyNames = {
  retries_with_no_delay: 'i',
  minimum_delay_retries: 'pre',
  minimum_delay: 'min',
  maximum_delay: 'max',
  maximum_delay_retries: 'post',
  retry_backoff_function: 'f',
  ignore_subscription_override: 'own',
  backoff_retries: 'b',
  backoff_exponent: 'exp',
  jitter: 'j',
  retry_on_status: 'on',
} as const satisfies Record<keyof RetryPolicy, string>;

/** The policy of a round, on its delivery. */
export function policyItemOf(policy: RetryPolicy): Record<string, unknown> {
  return shortened(policyNames, policy);
}

const policyItemSchema = z
  .record(z.string(), z.unknown())
  .transform((item) => lengthened(policyNames, item))
  .pipe(completePolicySchema);

/** A field that has its usual value (round 1, nothing lost, nothing owed) is not written at all. */
const fields = {
  acceptedAt: z.number(),
  status: z.enum(STATUSES),
  reason: z.string().exactOptional(),
  round: z.number().default(1),
  attempts: z.array(attemptItemSchema),
  lateResults: z.array(attemptItemSchema).default([]),
  lost: z.number().default(0),
  next: z
    .object({
      number: z.number(),
      phase: z.enum(PHASES),
      dueAt: z.number(),
      by: z.enum(MECHANISMS),
    } satisfies Record<keyof NextAttempt, z.ZodType>)
    .exactOptional(),
  slot: z.object({ at: z.number(), epoch: z.string().exactOptional() }).exactOptional(),
  policy: policyItemSchema.exactOptional(),
  lease: z.object({ owner: z.string(), until: z.number() }).exactOptional(),
  owed: z.array(z.enum(OWED)).default([]),
  recoveries: z.array(z.string()).default([]),
  overdueAt: z.number().exactOptional(),
  updatedAt: z.number(),
  expiresAt: z.number(),
} satisfies Record<Exclude<keyof Delivery, 'key'>, z.ZodType>;

/** The keys of an item, as every index carries them. */
export const deliveryItemKeySchema = z
  .object({ pk: z.string(), sk: z.string() })
  .transform((item, context) => {
    const key = deliveryKeyOf(item);
    if (key !== undefined) return key;
    context.addIssue({ code: 'custom', path: ['pk'], message: 'is no key of a delivery' });
    return z.NEVER;
  });

const deliverySchema = z.object(fields);

/** @throws UnreadableRecordError */
export function deliveryOf(item: unknown): Delivery {
  return {
    key: decoded(deliveryItemKeySchema, item),
    ...decodedRecord(deliverySchema, item),
  };
}

/** The whole item of a new record. */
export function deliveryItemOf(delivery: Delivery): Record<string, unknown> {
  return {
    ...itemKeyOf(delivery.key),
    v: RECORD_VERSION,
    [deliveryIndexes.byQueue.sort]: notDeliveredSortOf(delivery.key, delivery.acceptedAt),
    ...(isListed(delivery) ? listingPartitionsOf(delivery.key) : {}),
    ...(delivery.overdueAt === undefined
      ? {}
      : { [deliveryIndexes.overdue.partition]: overduePartitionOf(delivery.key) }),
    ...withoutUsual({
      acceptedAt: delivery.acceptedAt,
      status: delivery.status,
      reason: delivery.reason,
      round: delivery.round,
      attempts: delivery.attempts.map(attemptItemOf),
      lateResults: delivery.lateResults.map(attemptItemOf),
      lost: delivery.lost,
      next: delivery.next,
      slot: delivery.slot,
      policy: delivery.policy === undefined ? undefined : policyItemOf(delivery.policy),
      lease: delivery.lease,
      owed: delivery.owed,
      recoveries: delivery.recoveries,
      overdueAt: delivery.overdueAt,
      updatedAt: delivery.updatedAt,
      expiresAt: delivery.expiresAt,
    }),
    [ttlAttribute]: ttlOf(delivery.expiresAt),
  };
}

type Fields = Record<keyof typeof fields, unknown>;

function withoutUsual(values: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => !isUsual(name, value)));
}

/** Whether a field is left out of the item because reading it without gives the same. */
export function isUsual(name: string, value: unknown): boolean {
  if (value === undefined) return true;
  switch (name) {
    case 'round':
      return value === 1;
    case 'lost':
      return value === 0;
    case 'lateResults':
    case 'owed':
    case 'recoveries':
      return Array.isArray(value) && value.length === 0;
    default:
      return false;
  }
}
