import { createHash } from 'node:crypto';
import * as z from 'zod';
import { subscriptionIndexes, ttlAttribute } from '../../config/tables.ts';
import type {
  Queue,
  Subscription,
  SubscriptionKey,
  SubscriptionOptions,
  PreviousSelection,
} from '../../domain/subscription/subscription.ts';
import {
  type Destination,
  destinationIdentity,
  parseDestination,
  subscriberOf,
} from '../../domain/subscription/destination.ts';
import { storedAuthSchema } from '../../domain/subscription/auth.ts';
import { decodeRecord, type ItemKey, RECORD_VERSION, ttlOf } from './record.ts';
import { disabledItemOf, healthSchemas, pressureFieldsOf, unsentItemOf } from './subscription-health-item.ts';
import { partialPolicySchema } from '../../domain/retry/policy.ts';
import { DAY_MS } from '../../domain/duration.ts';

const META = 'META';
export const subscriptionPrefix = 'SUB#';
export const subscriberPrefix = 'URL#';

/** The partitions of the index: of all queues, and of all pull subscriptions. */
export const QUEUES = 'QUEUES';
export const PULLS = 'PULLS';

export function queuePartition(queue: string): string {
  return `QUEUE#${queue}`;
}
export function queueItemKey(queue: string): ItemKey {
  return { pk: queuePartition(queue), sk: META };
}
export function subscriptionItemKey(queue: string, id: string): ItemKey {
  return { pk: queuePartition(queue), sk: `${subscriptionPrefix}${id}` };
}

/** Key of the claim that keeps a destination unique on its queue. */
export function subscriberItemKey({
  queue,
  destination,
}: Pick<Subscription, 'queue' | 'destination'>): ItemKey {
  const identity = createHash('sha256').update(destinationIdentity(destination)).digest('base64url');
  return { pk: queuePartition(queue), sk: `${subscriberPrefix}${identity}` };
}

const queueItemSchema = z.object({ sk: z.literal(META) });

const deletedQueueSchema = z.object({ deletedAt: z.number() });

/** Whether a queue item belongs to a deleted queue, which stays until its subscriptions are removed. */
export function isDeletedQueue(item: unknown): boolean {
  return deletedQueueSchema.safeParse(item).success;
}

/** Whether an item is the queue item, which sorts before the subscriptions of the queue. */
export function isQueueItem(item: unknown): boolean {
  return queueItemSchema.safeParse(item).success;
}

/** User input is stored as JSON, because it may have empty keys, numbers beyond DynamoDB's range and deep nesting. */
export const json = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'is not JSON' });
    return z.NEVER;
  }
});

export const queueSchema = z.object({
  name: z.string(),
  metadata: json.pipe(z.record(z.string(), z.unknown())),
  retryPolicy: json.pipe(partialPolicySchema).exactOptional(),
  createdAt: z.number(),
} satisfies Record<keyof Queue, z.ZodType>);

/** @throws UnreadableRecordError */
export function queueOf(item: unknown): Queue {
  return decodeRecord(queueSchema, item);
}

/** The attributes besides the keys that a replacement overwrites: all except `createdAt`. */
export function queueAttributesOf(queue: Queue): Record<string, unknown> {
  return {
    v: RECORD_VERSION,
    name: queue.name,
    metadata: JSON.stringify(queue.metadata),
    ...(queue.retryPolicy === undefined ? {} : { retryPolicy: JSON.stringify(queue.retryPolicy) }),
    [subscriptionIndexes.queues.partition]: QUEUES,
    [subscriptionIndexes.queues.sort]: queue.name,
  };
}

/** The complete item of a new queue. */
export function queueItemOf(queue: Queue): Record<string, unknown> {
  return {
    ...queueItemKey(queue.name),
    ...queueAttributesOf(queue),
    createdAt: queue.createdAt,
  };
}

/** Options of a later version are kept unchanged. */
export const optionsSchema = z.looseObject({
  _retry_policy: partialPolicySchema.exactOptional(),
  post_headers: z.record(z.string(), z.string()).exactOptional(),
  post_data: z.string().exactOptional(),
  raw_delivery: z.boolean().exactOptional(),
  attempt_timeout: z.number().exactOptional(),
  max_per_second: z.number().exactOptional(),
  retry_throttled: z.boolean().exactOptional(),
  adapt_to_throttling: z.boolean().exactOptional(),
  hold_while_down: z.boolean().exactOptional(),
  event_types: z.array(z.string()).exactOptional(),
  filter: z.unknown().exactOptional(),
} satisfies Record<keyof SubscriptionOptions, z.ZodType>);

const formerlySchema = z.object({
  event_types: optionsSchema.shape.event_types,
  filter: optionsSchema.shape.filter,
  until: z.number(),
} satisfies Record<keyof PreviousSelection, z.ZodType>);

const sealedSecretSchema = z.object({
  sealed: z.string(),
  publicKey: z.string().exactOptional(),
  expiresAt: z.number().exactOptional(),
});

export const subscriptionSchema = z.object({
  id: z.string(),
  queue: z.string(),
  name: z.string().exactOptional(),
  subscriber: z.string(),
  options: json.pipe(optionsSchema),
  createdAt: z.number(),
  changedAt: z.number().exactOptional(),
  limitedAt: z.number().exactOptional(),
  lifetime: z.number().exactOptional(),
  expiresAt: z.number().exactOptional(),
  ...healthSchemas,
  unconfirmed: z
    .object({ tokenHash: z.string(), at: z.number(), owed: z.literal(true).exactOptional() })
    .exactOptional(),
  secrets: z.array(sealedSecretSchema).exactOptional(),
  auth: storedAuthSchema.exactOptional(),
  pullTokens: z
    .array(z.object({ tokenHash: z.string(), expiresAt: z.number().exactOptional() }))
    .exactOptional(),
  confirmedAt: z.number().exactOptional(),
  formerly: json.pipe(formerlySchema).exactOptional(),
  deletedAt: z.number().exactOptional(),
});

/** @throws UnreadableRecordError */
export function subscriptionOf(item: unknown): Subscription {
  const { subscriber, auth, pullTokens, lifetime, unsent, unsentEvent, pressure, ...subscription } =
    decodeRecord(subscriptionSchema, item);
  return {
    ...subscription,
    destination: destinationFrom({ subscriber, ...(auth && { auth }), ...(pullTokens && { pullTokens }) }),
    ...pressureFieldsOf({ unsent, unsentEvent, pressure }),
    ...(lifetime === undefined ? {} : { ttl: lifetime }),
  };
}

type DestinationFields = Pick<z.infer<typeof subscriptionSchema>, 'subscriber' | 'auth' | 'pullTokens'>;

function destinationFrom({ subscriber, auth, pullTokens: tokens }: DestinationFields): Destination {
  const destination = parseDestination(subscriber);
  switch (destination.kind) {
    case 'webhook':
      return { ...destination, ...(auth && { auth }) };
    case 'pull':
      return { ...destination, ...(tokens && { tokens }) };
  }
}

/** What a destination adds to its subscription's item. Pull subscriptions are listed in an index, for reconcile. */
function destinationFields(
  destination: Destination,
  of: Pick<Subscription, 'queue' | 'id'>,
): Record<string, unknown> {
  const subscriber = subscriberOf(destination);
  switch (destination.kind) {
    case 'webhook':
      return { subscriber, ...(destination.auth && { auth: destination.auth }) };
    case 'pull':
      return {
        subscriber,
        ...(destination.tokens && { pullTokens: destination.tokens }),
        [subscriptionIndexes.queues.partition]: PULLS,
        [subscriptionIndexes.queues.sort]: pullSortOf({ queue: of.queue, subscriptionId: of.id }),
      };
  }
}

/** The user's `ttl` is stored as `lifetime`, because the attribute `ttl` is DynamoDB's and a point in time. */
export function subscriptionItemOf({
  destination,
  ttl,
  options,
  formerly,
  disabled,
  unsent,
  ...subscription
}: Subscription): Record<string, unknown> {
  return {
    ...subscriptionItemKey(subscription.queue, subscription.id),
    v: RECORD_VERSION,
    ...subscription,
    options: JSON.stringify(options),
    ...(formerly === undefined ? {} : { formerly: JSON.stringify(formerly) }),
    ...(disabled === undefined ? {} : { disabled: disabledItemOf(disabled) }),
    ...unsentItemOf(unsent),
    ...(ttl === undefined ? {} : { lifetime: ttl }),
    ...destinationFields(destination, subscription),
    ...timeToLiveOf({ ...subscription, destination }),
  };
}

/** Neither queue names nor ids of subscriptions contain `#`. */
export function pullSortOf({ queue, subscriptionId }: SubscriptionKey): string {
  return `${queue}#${subscriptionId}`;
}

export function subscriberItemOf(subscription: Subscription): Record<string, unknown> {
  return {
    ...subscriberItemKey(subscription),
    v: RECORD_VERSION,
    subscriptionId: subscription.id,
    ...(subscription.expiresAt === undefined ? {} : { expiresAt: subscription.expiresAt }),
    ...timeToLiveOf(subscription),
  };
}

const holderSchema = z.object({ subscriptionId: z.string() });

/**
 * The subscription that holds a claim.
 * @throws UnreadableRecordError
 */
export function holderOf(item: unknown): string {
  return decodeRecord(holderSchema, item).subscriptionId;
}

/**
 * In milliseconds; longer than SQS keeps the operation that removes a marked subscription, and than reconcile takes to
 * cancel what waits for an expired one.
 */
const MARKED_FOR_MS = 7 * DAY_MS;

function timeToLiveOf({
  destination,
  expiresAt,
  deletedAt,
}: Pick<Subscription, 'destination' | 'expiresAt' | 'deletedAt'>): Record<string, number> {
  const keptMs = keptAfterExpiryMs(destination);
  const until = deletedAt === undefined ? expiresAt && expiresAt + keptMs : deletedAt + MARKED_FOR_MS;
  return until === undefined ? {} : { [ttlAttribute]: ttlOf(until) };
}

function keptAfterExpiryMs({ kind }: Destination): number {
  switch (kind) {
    case 'webhook':
      return 0;
    case 'pull':
      return MARKED_FOR_MS;
  }
}
