import * as z from 'zod';
import { deliveryIndexes, ttlAttribute } from '../../config/tables.ts';
import type { Attempt } from '../../domain/delivery/attempt.ts';
import type { Delivery, Lease, NextAttempt } from '../../domain/delivery/delivery.ts';
import { completePolicySchema, type RetryPolicy } from '../../domain/retry/policy.ts';
import { type Outcome, OUTCOMES, type Phase, PHASES } from '../../domain/retry/vocabulary.ts';
import { PRESSURE_REASONS } from '../../domain/subscription/vocabulary.ts';
import {
  ATTEMPT_TRIGGERS,
  type AttemptTrigger,
  MECHANISMS,
  PENDING_STEPS,
  STATUSES,
} from '../../domain/delivery/vocabulary.ts';
import {
  deliveryKeyOf,
  isListed,
  itemKeyOf,
  listingPartitionsOf,
  notDeliveredSortOf,
  overduePartitionOf,
} from './delivery-keys.ts';
import {
  decode,
  decodeRecord,
  keySchema,
  withLongNames,
  RECORD_VERSION,
  withShortNames,
  ttlOf,
} from './record.ts';

const names = {
  number: 'n',
  round: 'r',
  phase: 'p',
  by: 'b',
  dueAt: 'u',
  startedAt: 's',
  durationMs: 'd',
  outcome: 'o',
  statusCode: 'c',
  error: 'e',
  snippet: 'x',
  lost: 'l',
  subscriptionChangedAt: 'v',
} as const satisfies Record<keyof Attempt, string>;

const phaseCodes = {
  initial: '1',
  immediate: 'i',
  pre_backoff: 'pre',
  backoff: 'b',
  post_backoff: 'post',
  manual: 'm',
} as const satisfies Record<Phase, string>;

const byCodes = {
  same_invocation: 'i',
  sqs_delay: 'q',
  scheduler: 's',
  reconcile: 'r',
} as const satisfies Record<AttemptTrigger, string>;

const outcomeCodes = { delivered: 'd', failed: 'f', rejected: 'r' } as const satisfies Record<
  Outcome,
  string
>;

/** The word for a stored code. An unknown code stays, so that the schema after it rejects it. */
function wordFor(codes: Readonly<Record<string, string>>) {
  return (code: unknown): unknown => Object.entries(codes).find(([, known]) => known === code)?.[0] ?? code;
}

const attemptFields = {
  number: z.number(),
  round: z.number().default(1),
  phase: z.preprocess(wordFor(phaseCodes), z.enum(PHASES)),
  by: z.preprocess(wordFor(byCodes), z.enum(ATTEMPT_TRIGGERS)).exactOptional(),
  dueAt: z.number().exactOptional(),
  startedAt: z.number(),
  durationMs: z.number(),
  outcome: z.preprocess(wordFor(outcomeCodes), z.enum(OUTCOMES)),
  statusCode: z.number().exactOptional(),
  error: z.string().exactOptional(),
  snippet: z.string().exactOptional(),
  lost: z.number().exactOptional(),
  subscriptionChangedAt: z.number().exactOptional(),
} satisfies Record<keyof Attempt, z.ZodType>;

/**
 * An attempt in stored form, about 60 bytes without texts: the whole default policy then takes one or two
 * kilobytes.
 */
export function attemptItemOf({ round, ...attempt }: Attempt): Record<string, unknown> {
  return withShortNames(names, {
    ...attempt,
    round: round === 1 ? undefined : round,
    phase: phaseCodes[attempt.phase],
    by: attempt.by === undefined ? undefined : byCodes[attempt.by],
    outcome: outcomeCodes[attempt.outcome],
  });
}

const attemptItemSchema = withLongNames(names).pipe(z.object(attemptFields));

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

/** The policy of a round, as stored on its delivery. */
export function policyItemOf(policy: RetryPolicy): Record<string, unknown> {
  return withShortNames(policyNames, policy);
}

const policyItemSchema = withLongNames(policyNames).pipe(completePolicySchema);

/** A next attempt in stored form. Versions before pull read it as one that SQS delays. */
export function nextItemOf({ by, ...next }: NextAttempt): Record<string, unknown> {
  return by === 'pull' ? { ...next, by: 'sqs_delay', pull: true } : { ...next, by };
}

const nextItemSchema = z
  .object({
    number: z.number(),
    phase: z.enum(PHASES),
    dueAt: z.number(),
    by: z.enum(MECHANISMS),
    pull: z.literal(true).exactOptional(),
  } satisfies Record<keyof NextAttempt | 'pull', z.ZodType>)
  .transform(({ pull, ...next }): NextAttempt => (pull === true ? { ...next, by: 'pull' } : next));

const leaseSchema = z.object({
  owner: z.string(),
  until: z.number(),
  receivedAt: z.number().exactOptional(),
} satisfies Record<keyof Lease, z.ZodType>);

/** A field with its default value (round 1, nothing lost, no pending steps) is not written. */
const fields = {
  acceptedAt: z.number(),
  status: z.enum(STATUSES),
  reason: z.string().exactOptional(),
  round: z.number().default(1),
  attempts: z.array(attemptItemSchema),
  lateResults: z.array(attemptItemSchema).default([]),
  lost: z.number().default(0),
  next: nextItemSchema.exactOptional(),
  slot: z
    .object({
      at: z.number(),
      epoch: z.string().exactOptional(),
      from: z.number().exactOptional(),
      reason: z.enum(PRESSURE_REASONS).optional().catch(undefined), // that of a later version counts as none
    })
    .exactOptional(),
  policy: policyItemSchema.exactOptional(),
  lease: leaseSchema.exactOptional(),
  lapsed: leaseSchema.exactOptional(),
  owed: z.array(z.enum(PENDING_STEPS)).default([]),
  recoveries: z.array(z.string()).default([]),
  overdueAt: z.number().exactOptional(),
  updatedAt: z.number(),
  expiresAt: z.number(),
  retentionDays: z.number().exactOptional(),
} satisfies Record<Exclude<keyof Delivery, 'key'>, z.ZodType>;

/** The key attributes of an item, which every index projects. */
export const deliveryKeySchema = keySchema(deliveryKeyOf, 'pk');

const deliverySchema = z.object(fields);

/** @throws UnreadableRecordError */
export function deliveryOf(item: unknown): Delivery {
  return {
    key: decode(deliveryKeySchema, item),
    ...decodeRecord(deliverySchema, item),
  };
}

/** The complete item of a new record. */
export function deliveryItemOf(delivery: Delivery): Record<string, unknown> {
  return {
    ...itemKeyOf(delivery.key),
    v: RECORD_VERSION,
    [deliveryIndexes.byQueue.sort]: notDeliveredSortOf(delivery.key, delivery.acceptedAt),
    ...(isListed(delivery) ? listingPartitionsOf(delivery.key) : {}),
    ...(delivery.overdueAt === undefined
      ? {}
      : { [deliveryIndexes.overdue.partition]: overduePartitionOf(delivery.key, delivery) }),
    ...withoutDefaults({
      acceptedAt: delivery.acceptedAt,
      status: delivery.status,
      reason: delivery.reason,
      round: delivery.round,
      attempts: delivery.attempts.map(attemptItemOf),
      lateResults: delivery.lateResults.map(attemptItemOf),
      lost: delivery.lost,
      next: delivery.next === undefined ? undefined : nextItemOf(delivery.next),
      slot: delivery.slot,
      policy: delivery.policy === undefined ? undefined : policyItemOf(delivery.policy),
      lease: delivery.lease,
      lapsed: delivery.lapsed,
      owed: delivery.owed,
      recoveries: delivery.recoveries,
      overdueAt: delivery.overdueAt,
      updatedAt: delivery.updatedAt,
      expiresAt: delivery.expiresAt,
      retentionDays: delivery.retentionDays,
    }),
    [ttlAttribute]: ttlOf(delivery.expiresAt),
  };
}

type Fields = Record<keyof typeof fields, unknown>;

function withoutDefaults(values: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => !isDefault(name, value)));
}

/** Whether a field is omitted from the item because reading it yields this default. */
export function isDefault(name: string, value: unknown): boolean {
  if (value === undefined) return true;
  if (Array.isArray(value)) return value.length === 0 && name !== 'attempts';
  return (name === 'round' && value === 1) || (name === 'lost' && value === 0);
}
