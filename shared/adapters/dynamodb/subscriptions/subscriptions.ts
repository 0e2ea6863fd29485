import * as z from 'zod';
import { primaryKey } from '../../../config/tables.ts';
import { queueMember } from '../../../domain/subscription/queue-metadata.ts';
import { FAILURES_TO_DISABLE, type HealthChange } from '../../../domain/subscription/health.ts';
import {
  type ListedSubscription,
  listedSubscriptionSchema,
  type Queue,
  selectionSchema,
  type Subscription,
  type SubscriptionKey,
} from '../../../domain/subscription/subscription.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { HealthResult, SubscriptionPage, Subscriptions } from '../../../ports/subscriptions.ts';
import { estimateHeapBytes, readCache } from '../../read-cache.ts';
import { queryItem, readItem } from '../queries.ts';
import { openTable, type Table } from '../table.ts';
import { decode, decodeRecord, renamed } from '../record.ts';
import {
  chooseUnsentAttribute,
  findStoredQueue,
  isDeletedQueue,
  isQueueItem,
  json,
  queueItemKey,
  queueItemSchema,
  queuePartition,
  subscriberPrefix,
  subscriptionItemKey,
  subscriptionItemSchema,
  subscriptionPrefix,
  toDisabledItem,
  toSubscription,
  toUnsentItem,
  UNSENT_ATTRIBUTES,
} from './subscription-item.ts';
import { conditional, EXISTS, expression, type Expression, updateReturningItem } from '../writes.ts';
import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';

/** Limit of each cache in bytes, since options and metadata may have a few characters or 64 KiB. */
const MAX_CACHED = 64 * 1024 * 1024;

/**
 * The subscriptions table for dispatch and deliver. Every read is strongly consistent. `cached` values may be
 * `cacheSeconds` old; they are shared, so callers must not modify them.
 */
export function dynamoSubscriptions(
  client: DynamoDBDocument,
  tableName: string,
  options: { clock: Pick<Clock, 'now'>; cacheSeconds: number },
): Subscriptions {
  const table = openTable(client, tableName);
  const age = { clock: options.clock, maxAgeMs: options.cacheSeconds * 1000 };
  const pages = readCache<SubscriptionPage>({
    ...age,
    maxWeight: MAX_CACHED,
    weightOf: (page) => (page.subscriptions.length === 0 ? 0 : estimateHeapBytes(page)),
  });
  const queues = readCache<Queue>({ ...age, maxWeight: MAX_CACHED, weightOf: estimateHeapBytes });
  const subscriptions = readCache<Subscription>({
    ...age,
    maxWeight: MAX_CACHED,
    weightOf: estimateHeapBytes,
  });

  /** Writes a change of a subscription's health by one conditional request, which returns the item either way. */
  const writeHealth = async (
    { queue, subscriptionId }: SubscriptionKey,
    expr: Expression,
    { conditions, update }: { conditions: readonly string[]; update: string },
  ): Promise<HealthResult> => {
    const key = subscriptionItemKey(queue, subscriptionId);
    const condition = [EXISTS, ...conditions].join(' AND ');
    const result = await conditional(table.update(updateReturningItem(key, update, condition, expr)));
    // The cached values are outdated whether the change was written or refused.
    pages.forgetAll(buildKey(queue, ''));
    subscriptions.forget(buildKey(queue, subscriptionId));
    return result.kind === 'written'
      ? { kind: 'written', subscription: toSubscription(result.output.Attributes) }
      : { kind: 'refused', current: result.item && toSubscription(result.item) };
  };

  return {
    page: (queue, freshness, after = '') =>
      pages[freshness](buildKey(queue, after), () => readPage(table, { queue, after }, options.clock)),
    find: async (queue, subscriptionId, freshness) => {
      const [foundQueue, subscription] = await Promise.all([
        // Cached even for a fresh subscription: one item allows only 3,000 such reads a second
        // (docs/cost-and-performance.md#ceilings).
        queues.cached(queue, async () => (await findStoredQueue(table, queue))?.current),
        subscriptions[freshness](buildKey(queue, subscriptionId), async () => {
          const item = await readItem(table, subscriptionItemKey(queue, subscriptionId));
          return item && toSubscription(item);
        }),
      ]);
      return { queue: foundQueue, subscription: foundQueue && subscription };
    },
    disable: async (queue, subscriptionId, disabled, version) => {
      const expr = expression();
      const result = await writeHealth({ queue, subscriptionId }, expr, {
        conditions: [isEnabled(expr), expr.equal('changedAt', version)],
        update: expr.update({ disabled: toDisabledItem(disabled) }),
      });
      return result.kind === 'written' ? result.subscription.disabled : result.current?.disabled;
    },
    changeHealth: (queue, subscriptionId, change) => {
      const expr = expression();
      return writeHealth({ queue, subscriptionId }, expr, {
        conditions: [
          ...buildDecisionConditions(change, expr),
          ...noUnsentEvent(change, expr),
          ...(change.kind === 'sent' ? [] : [expr.equal('changedAt', change.version)]),
        ],
        update: buildHealthUpdate(change, expr),
      });
    },
  };
}

function buildKey(queue: string, subscriptionId: string): string {
  return `${queue}#${subscriptionId}`;
}

/**
 * The fields that decide whether a message goes to a subscription. The rest of an item, such as its secrets, is
 * more than half of it.
 */
const listedSchema = listedSubscriptionSchema.omit({ previousSelection: true }).extend({
  options: json.pipe(selectionSchema),
  formerly: subscriptionItemSchema.shape.formerly,
});

const listedAttributes: readonly string[] = [
  ...Object.values(primaryKey),
  'v',
  'metadata',
  ...Object.keys(listedSchema.shape),
];

function toListedSubscription(item: unknown): ListedSubscription {
  return renamed(decodeRecord(listedSchema, item), { formerly: 'previousSelection' });
}

const listedQueueSchema = queueItemSchema.pick({ createdAt: true, metadata: true });

function toListedQueue(item: unknown) {
  const { createdAt, metadata } = decodeRecord(listedQueueSchema, item);
  return {
    queueCreatedAt: createdAt,
    retainMessages: queueMember('_retain_messages', metadata),
    eventValidation: queueMember('_event_validation', metadata),
    retentionDays: queueMember('_retention_days', metadata),
  };
}

const subscriptionKeySchema = z.object({ sk: z.templateLiteral([subscriptionPrefix, z.string()]) });

function subscriptionIdIn(key: unknown): string {
  return decode(subscriptionKeySchema, key).sk.slice(subscriptionPrefix.length);
}

const listedProjection = projectionOfListed();

function projectionOfListed() {
  const expr = expression();
  const ProjectionExpression = listedAttributes.map((attribute) => expr.name(attribute)).join(', ');
  return { ProjectionExpression, ExpressionAttributeNames: expr.attributes().ExpressionAttributeNames };
}

/**
 * One Query: DynamoDB returns up to 1 MB of items, counted before the projection.
 * @throws UnreadableRecordError
 */
async function readPage(
  table: Table,
  { queue, after }: { queue: string; after: string },
  clock: Pick<Clock, 'now'>,
): Promise<SubscriptionPage | undefined> {
  const readAt = clock.now();
  const { Items = [], LastEvaluatedKey: more } = await table.query({
    ...listedProjection,
    // The queue item and its subscriptions are adjacent and sort before the subscriber claims.
    KeyConditionExpression: `${primaryKey.partition} = :queue AND ${primaryKey.sort} < :subscribers`,
    ExpressionAttributeValues: { ':queue': queuePartition(queue), ':subscribers': subscriberPrefix },
    ExclusiveStartKey: after === '' ? undefined : subscriptionItemKey(queue, after),
    ConsistentRead: true,
  });
  // Reads the queue after its subscriptions: if it is the queue that accepted the message, they belonged to it.
  const readQueueItem = () => queryItem(table, queueItemKey(queue), listedProjection);
  const [first, ...rest] = after === '' ? Items : [await readQueueItem(), ...Items];
  if (!isQueueItem(first) || isDeletedQueue(first)) return undefined;
  const page = { ...toListedQueue(first), subscriptions: rest.map(toListedSubscription), readAt };
  return more === undefined ? page : { ...page, lastSubscriptionId: subscriptionIdIn(more) };
}

/**
 * The part of domain `healthChangeHolds` about the streak and the event. A comparison with a missing attribute is
 * false.
 */
function buildDecisionConditions(change: HealthChange, expr: Expression): string[] {
  switch (change.kind) {
    case 'pressure':
      return [expr.equal(change.from === undefined ? 'pressure' : ['pressure', 'at'], change.from)];
    case 'warn_of_certificate': {
      const warned = expr.name('auth', 'warnedDays');
      return [
        expr.equal(['auth', 'at'], change.at),
        `(attribute_not_exists(${warned}) OR ${warned} > ${expr.value(change.days)})`,
      ];
    }
    case 'begin':
      return [expr.equal('failing', undefined), isEnabled(expr)];
    case 'count': {
      const { since, failures } = change.failing;
      return [isSameStreak(since, expr), expr.equal(['failing', 'failures'], failures - 1), isEnabled(expr)];
    }
    case 'recover':
      return [isSameStreak(change.since, expr)];
    case 'disable': {
      const failures = `${expr.name('failing', 'failures')} >= ${expr.value(FAILURES_TO_DISABLE)}`;
      return [isSameStreak(change.since, expr), failures, isEnabled(expr)];
    }
    case 'sent': {
      const attribute = chooseUnsentAttribute(change.unsent);
      const { at, event } = change.unsent;
      return [expr.equal([attribute, 'at'], at), expr.equal([attribute, 'event', 'type'], event.type)];
    }
  }
}

function noUnsentEvent(change: HealthChange, expr: Expression): string[] {
  return change.kind !== 'sent' && 'unsent' in change
    ? UNSENT_ATTRIBUTES.map((attribute) => expr.equal(attribute, undefined))
    : [];
}

function isEnabled(expr: Expression): string {
  return expr.equal('disabled', undefined);
}

function isSameStreak(since: number, expr: Expression): string {
  return expr.equal(['failing', 'since'], since);
}

/** The tests compare it with their `applyHealthChange`. */
function buildHealthUpdate(change: HealthChange, expr: Expression): string {
  const eventToSend = 'unsent' in change ? toUnsentItem(change.unsent) : {};
  switch (change.kind) {
    case 'pressure':
      return expr.update({ pressure: change.pressure, ...eventToSend });
    case 'warn_of_certificate':
      return expr.update(eventToSend, expr.equal(['auth', 'warnedDays'], change.days));
    case 'begin':
      return expr.update({ failing: change.failing });
    case 'count':
      return expr.update({ failing: change.failing, ...eventToSend });
    case 'recover':
      return expr.update({ failing: undefined, ...eventToSend });
    case 'disable':
      return expr.update({ disabled: change.disabled, ...eventToSend });
    case 'sent':
      return expr.update({ [chooseUnsentAttribute(change.unsent)]: undefined });
  }
}
