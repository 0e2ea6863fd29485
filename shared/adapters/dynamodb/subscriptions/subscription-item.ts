import { hash } from 'node:crypto';
import * as z from 'zod';
import { subscriptionIndexes, ttlAttribute } from '../../../config/tables.ts';
import {
  type Disabled,
  disabledSchema,
  optionsSchema,
  type PendingEvent,
  pendingEventSchema,
  type Pressure,
  pressureSchema,
  pressureVersionSchema,
  previousSelectionSchema,
  type Queue,
  queueSchema,
  type Subscription,
  type SubscriptionKey,
  subscriptionSchema,
} from '../../../domain/subscription/subscription.ts';
import {
  asPull,
  type Destination,
  destinationIdentity,
  parseDestination,
  pullSchema,
  toSubscriber,
  webhookSchema,
} from '../../../domain/subscription/destination.ts';
import { jsonOrUndefined } from '../../../domain/json.ts';
import { queryOfPrefix, readItem } from '../queries.ts';
import { decodeRecord, type ItemKey, RECORD_VERSION, renamed, toTtl } from '../record.ts';
import type { Table } from '../table.ts';
import type { Stored } from '../writes.ts';
import { PRESSURE_REASONS } from '../../../domain/subscription/vocabulary.ts';
import { partialPolicySchema } from '../../../domain/retry/policy.ts';
import { DAY_MS } from '../../../domain/duration.ts';

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
export function subscriberItemKey(of: Pick<Subscription, 'queue' | 'destination'>): ItemKey {
  const { queue, destination } = of;
  const identity = hash('sha256', destinationIdentity(destination), 'base64url');
  return { pk: queuePartition(queue), sk: `${subscriberPrefix}${identity}` };
}

/** All subscriptions of a queue, in the order of their ids; strongly consistent. */
export function queryOfSubscriptions(queue: string) {
  return { ConsistentRead: true, ...queryOfPrefix(queuePartition(queue), subscriptionPrefix) };
}

type Item = Record<string, unknown>;

/** Whether a queue item belongs to a deleted queue, which stays until its subscriptions are removed. */
export function isDeletedQueue(item: Item | undefined): boolean {
  return item?.['deletedAt'] !== undefined;
}

/** The condition that a queue exists, or never existed. */
export const NOT_DELETED = 'attribute_not_exists(deletedAt)';

/** Whether a deleted queue is being restored: its subscriptions come back, and are not removed. */
export function isRestoringQueue(item: Item | undefined): boolean {
  return item?.['restoring'] === true;
}

/** Whether an item is the queue item, which sorts before the subscriptions of the queue. */
export function isQueueItem(item: Item | undefined): boolean {
  return item?.['sk'] === META;
}

/** A queue that callers see, with its item. */
export async function findStoredQueue(table: Table, name: string): Promise<Stored<Queue> | undefined> {
  const item = await readItem(table, queueItemKey(name));
  return item === undefined || isDeletedQueue(item) ? undefined : { item, current: toQueue(item) };
}

/** User input is stored as JSON, because it may have empty keys, numbers beyond DynamoDB's range and deep nesting. */
export const json = z
  .string()
  .transform(jsonOrUndefined)
  .refine((value) => value !== undefined, 'is not JSON');

export const queueItemSchema = queueSchema.extend({
  metadata: json.pipe(queueSchema.shape.metadata),
  retryPolicy: json.pipe(partialPolicySchema).exactOptional(),
});

/** @throws UnreadableRecordError */
export function toQueue(item: unknown): Queue {
  return decodeRecord(queueItemSchema, item);
}

/** The attributes besides the keys that a replacement overwrites: all except `createdAt`. */
export function toQueueAttributes(queue: Queue): Record<string, unknown> {
  const { createdAt: _, metadata, retryPolicy, ...others } = queue;
  return {
    v: RECORD_VERSION,
    ...others,
    metadata: JSON.stringify(metadata),
    ...(retryPolicy && { retryPolicy: JSON.stringify(retryPolicy) }),
    [subscriptionIndexes.queues.partition]: QUEUES,
    [subscriptionIndexes.queues.sort]: queue.name,
  };
}

/** The complete item of a new queue. */
export function toQueueItem(queue: Queue): Record<string, unknown> {
  return { ...queueItemKey(queue.name), ...toQueueAttributes(queue), createdAt: queue.createdAt };
}

/** `asked`: the reason is `disable_requested`. */
const storedDisabledSchema = disabledSchema
  .extend({ asked: z.literal(true).exactOptional() })
  .transform(({ asked, ...disabled }): Disabled =>
    asked ? { ...disabled, reason: 'disable_requested' } : disabled,
  );

/** Version 0.1.0 refuses records with the reason `disable_requested`, so it reads `gone`. */
export function toDisabledItem({ reason, at }: Disabled): Disabled & { asked?: true } {
  return reason === 'disable_requested' ? { reason: 'gone', at, asked: true } : { reason, at };
}

/** Versions before this law stored a reason and no state. They ignore the states, and their writes are refused. */
const earlierSchema = pressureVersionSchema
  .extend({ reason: z.enum(PRESSURE_REASONS), ended: z.literal(true).exactOptional() })
  .transform(({ reason, ended, at, since }): Pressure =>
    ended ? { state: 'ended', at, since } : { state: 'ending', reason, at, since },
  );

/** A state of a later version keeps its version, so that a change of it is not refused for ever. */
const laterSchema = pressureVersionSchema.transform((version): Pressure => ({ state: 'ended', ...version }));

/** Attributes of other names than their fields. */
const FIELDS = { changedAt: 'version', limitedAt: 'rateChangedAt', formerly: 'previousSelection' } as const;
const ATTRIBUTES = {
  version: 'changedAt',
  rateChangedAt: 'limitedAt',
  previousSelection: 'formerly',
} as const;

const sameSchema = subscriptionSchema.omit({
  destination: true,
  ttl: true,
  version: true,
  rateChangedAt: true,
  previousSelection: true,
});

/** An event with a reason of a later version is not sent. */
export const subscriptionItemSchema = sameSchema.extend({
  subscriber: z.string(),
  auth: webhookSchema.shape.auth,
  pullTokens: pullSchema.shape.tokens,
  // The attribute `ttl` is DynamoDB's and a point in time.
  lifetime: subscriptionSchema.shape.ttl,
  // Options of a later version are kept unchanged.
  options: json.pipe(z.looseObject(optionsSchema.shape)),
  changedAt: subscriptionSchema.shape.version,
  limitedAt: subscriptionSchema.shape.rateChangedAt,
  formerly: json.pipe(previousSelectionSchema).exactOptional(),
  disabled: storedDisabledSchema.exactOptional(),
  unsentEvent: pendingEventSchema.optional().catch(undefined),
  pressure: z.union([pressureSchema, earlierSchema, laterSchema]).optional().catch(undefined),
});

/** @throws UnreadableRecordError */
export function toSubscription(item: unknown): Subscription {
  const { subscriber, auth, pullTokens, lifetime, unsent, unsentEvent, pressure, ...subscription } =
    decodeRecord(subscriptionItemSchema, item);
  // Of two events, the older version's comes first.
  const event = unsent ?? unsentEvent;
  return {
    ...renamed(subscription, FIELDS),
    destination: destinationFrom({ subscriber, ...(auth && { auth }), ...(pullTokens && { pullTokens }) }),
    ...(event && { unsent: event }),
    ...(pressure && { pressure }),
    ...(lifetime === undefined ? {} : { ttl: lifetime }),
  };
}

type DestinationFields = Pick<z.infer<typeof subscriptionItemSchema>, 'subscriber' | 'auth' | 'pullTokens'>;

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
  const subscriber = toSubscriber(destination);
  switch (destination.kind) {
    case 'webhook':
      return { subscriber, ...(destination.auth && { auth: destination.auth }) };
    case 'pull':
      return {
        subscriber,
        ...(destination.tokens && { pullTokens: destination.tokens }),
        [subscriptionIndexes.queues.partition]: PULLS,
        [subscriptionIndexes.queues.sort]: toPullSort({ queue: of.queue, subscriptionId: of.id }),
      };
  }
}

export function toSubscriptionItem(of: Subscription): Record<string, unknown> {
  const { destination, ttl, options, previousSelection, disabled, unsent, ...subscription } = of;
  return {
    ...subscriptionItemKey(subscription.queue, subscription.id),
    v: RECORD_VERSION,
    ...renamed(subscription, ATTRIBUTES),
    options: JSON.stringify(options),
    ...(previousSelection === undefined ? {} : { formerly: JSON.stringify(previousSelection) }),
    ...(disabled === undefined ? {} : { disabled: toDisabledItem(disabled) }),
    ...toUnsentItem(unsent),
    ...(ttl === undefined ? {} : { lifetime: ttl }),
    ...destinationFields(destination, subscription),
    ...buildTimeToLive(of),
  };
}

/**
 * The attributes of an event to send. Version 0.1.0 refuses records with unknown events in `unsent`, and ignores
 * `unsentEvent`. Each has at most one.
 */
export const UNSENT_ATTRIBUTES = ['unsent', 'unsentEvent'] as const;

export function chooseUnsentAttribute({ event }: PendingEvent): (typeof UNSENT_ATTRIBUTES)[number] {
  switch (event.type) {
    case 'subscription.slowed':
    case 'subscription.resumed':
    case 'subscription.certificate_expiring':
      return 'unsentEvent';
    case 'subscription.disabled':
    case 'subscription.failing':
    case 'subscription.recovered':
      return 'unsent';
  }
}

/** `unsent` under the name of its attribute. */
export function toUnsentItem(unsent: PendingEvent | undefined): Record<string, PendingEvent> {
  return unsent === undefined ? {} : { [chooseUnsentAttribute(unsent)]: unsent };
}

/** Neither queue names nor ids of subscriptions contain `#`. */
export function toPullSort({ queue, subscriptionId }: SubscriptionKey): string {
  return `${queue}#${subscriptionId}`;
}

export function toSubscriberItem(subscription: Subscription): ItemKey & Record<string, unknown> {
  return {
    ...subscriberItemKey(subscription),
    v: RECORD_VERSION,
    subscriptionId: subscription.id,
    ...(subscription.expiresAt === undefined ? {} : { expiresAt: subscription.expiresAt }),
    ...buildTimeToLive(subscription),
  };
}

const holderSchema = z.object({ subscriptionId: z.string() });

/**
 * The subscription that holds a claim.
 * @throws UnreadableRecordError
 */
export function toHolder(item: unknown): string {
  return decodeRecord(holderSchema, item).subscriptionId;
}

/**
 * In milliseconds; longer than SQS keeps the operation that removes a marked subscription, and than reconcile takes to
 * cancel what waits for an expired one.
 */
const MARKED_FOR_MS = 7 * DAY_MS;

function buildTimeToLive({ destination, expiresAt, deletedAt }: Subscription): Record<string, number> {
  const keptMs = asPull(destination) === undefined ? 0 : MARKED_FOR_MS;
  const until = deletedAt === undefined ? expiresAt && expiresAt + keptMs : deletedAt + MARKED_FOR_MS;
  return until === undefined ? {} : { [ttlAttribute]: toTtl(until) };
}
