import * as z from 'zod';
import { subscriptionIndexes, ttlAttribute } from '../../../config/tables.ts';
import { DAY_MS } from '../../../domain/duration.ts';
import { pauseSchema, renewPause } from '../../../domain/subscription/pause.ts';
import {
  type ArchivedQueue,
  type ArchivedSubscription,
  type Deletion,
  isPresent,
  type Subscription,
  type SubscriptionKey,
} from '../../../domain/subscription/subscription.ts';
import {
  MAX_ARCHIVED_PER_TRANSACTION,
  QueueBeingDeletedError,
  QueueMissingError,
  type RegistryArchives,
  type SubscriptionAt,
} from '../../../ports/subscriptions.ts';
import { sortableTime } from '../deliveries/delivery-keys.ts';
import { listItems, queryItems, queryOfPrefix, readItem } from '../queries.ts';
import { decodeRecord, type ItemKey, RECORD_VERSION, toTtl } from '../record.ts';
import type { Table } from '../table.ts';
import {
  isDeletedQueue,
  isRestoringQueue,
  queueItemKey,
  QUEUES,
  subscriptionPrefix,
  toHolder,
  toQueue,
  toSubscriberItem,
  toSubscription,
} from './subscription-item.ts';
import { countAdded, putClaim, releaseSubscriber } from './subscription-writes.ts';
import { ABSENT, conditional, type RegistryTable, retryChange, transactWrite } from '../writes.ts';

type Item = Record<string, unknown>;

/** The partition of all archived queues. Sorted by name and time of deletion. */
const ARCHIVED_QUEUES = 'ARCHIVES';
const queuePrefix = 'QUEUE#';

export function queueArchiveKey(queue: string, deletedAt: number): ItemKey {
  return { pk: ARCHIVED_QUEUES, sk: `${queuePrefix}${queue}#${sortableTime(deletedAt)}` };
}

/** The archive of subscriptions that were deleted one by one, or with their queue at `deletedAt`. */
function subscriptionArchive(queue: string, deletedAt?: number): string {
  return deletedAt === undefined ? `ARCHIVE#${queue}` : `ARCHIVE#${queue}#${deletedAt}`;
}

export function subscriptionArchiveKey({ queue, subscriptionId }: SubscriptionKey): ItemKey {
  return { pk: subscriptionArchive(queue), sk: `${subscriptionPrefix}${subscriptionId}` };
}

/** Later than `restorableUntil`, so that TTL removes nothing of a queue that is being restored. */
const KEPT_LONGER_MS = DAY_MS;

const archiveSchema = z.object({
  deletedAt: z.number(),
  restorableUntil: z.number(),
  /** As it was before the deletion. Nested, so that neither an index nor TTL sees its attributes. */
  item: z.record(z.string(), z.unknown()),
});

type Archive = z.infer<typeof archiveSchema>;

/** The write that archives an item under a key. */
export function putArchive(key: ItemKey, item: Item, deletion: Deletion) {
  const { deletedAt, restorableUntil } = deletion;
  const ttl = { [ttlAttribute]: toTtl(restorableUntil + KEPT_LONGER_MS) };
  return {
    Put: { Item: { ...key, v: RECORD_VERSION, deletedAt, restorableUntil, item, ...ttl } },
  };
}

const endSchema = z.object({ deletedAt: z.number().optional(), expiresAt: z.number().optional() });

/** The writes that archive subscriptions of a deleted queue, except those deleted or expired before it. */
export function archiveSubscriptions(
  queue: string,
  items: readonly (Item & { sk: string })[],
  deletion: Deletion,
) {
  const pk = subscriptionArchive(queue, deletion.deletedAt);
  return items
    .filter((item) => {
      const { deletedAt, expiresAt = Infinity } = endSchema.parse(item);
      return deletedAt === undefined && expiresAt > deletion.deletedAt;
    })
    .map((item) => putArchive({ pk, sk: item.sk }, item, deletion));
}

/** What the registry keeps of deleted queues and subscriptions, and brings back. */
export function dynamoArchives(table: RegistryTable): RegistryArchives {
  return {
    listArchivedQueues: (page, now) =>
      listItems(table, '#archived_queues', page, {
        query: unexpired(queryOfPrefix(ARCHIVED_QUEUES, queuePrefix), now),
        keyOf: (sk) => ({ pk: ARCHIVED_QUEUES, sk }),
        parse: toArchivedQueue,
        nameOf: ({ queue, deletedAt }) => queueArchiveKey(queue.name, deletedAt).sk,
      }),
    listArchivedSubscriptions: (queue, page, now) =>
      listItems(table, `#archived#${queue}`, page, {
        query: unexpired(queryOfPrefix(subscriptionArchive(queue), subscriptionPrefix), now),
        keyOf: (sk) => ({ pk: subscriptionArchive(queue), sk }),
        parse: (item) => toArchivedSubscription(toArchive(item)),
        nameOf: ({ subscription: { id } }) => subscriptionArchiveKey({ queue, subscriptionId: id }).sk,
      }),
    findArchivedSubscription: (target) => findSubscriptionArchive(table, target),
    // Writes the archived queue back as a deleted one that is being restored, so that no caller sees it before its
    // subscriptions are back. A deletion that still moves them to the archive stops.
    restoreQueue: (name, now, until = Infinity) =>
      retryChange(table, `queue ${name}`, async () => {
        const query = unexpired(queryOfPrefix(ARCHIVED_QUEUES, `${queuePrefix}${name}#`), now);
        const items = await queryItems(table, { ...query, ScanIndexForward: false });
        const archive = items.map(toArchive).find(({ deletedAt }) => deletedAt <= until);
        if (archive === undefined) return 'missing';
        const result = await conditional(table.put(beginningOf(archive)));
        if (result.kind === 'written' || isRestoringQueue(result.item)) return 'restoring';
        if (!isDeletedQueue(result.item)) return 'exists';
        throw new QueueBeingDeletedError(name);
      }),
    // Page by page, then the queue. Each page is a transaction, so that a subscription is either in the archive or in the
    // queue.
    completeRestoredQueue: async (name, hasTime) => {
      do {
        const restoring = restoringSchema.safeParse(await readItem(table, queueItemKey(name)));
        if (!restoring.success) return true;
        const { deletedAt } = restoring.data;
        const archived = queryOfPrefix(subscriptionArchive(name, deletedAt), subscriptionPrefix);
        const query = { ...archived, ConsistentRead: true };
        const items = await queryItems(table, query, MAX_ARCHIVED_PER_TRANSACTION);
        if (items.length > 0) {
          const at = table.clock.now();
          await transactWrite(table, movesBack(items.map(toArchive), { queue: name, deletedAt, at }));
        } else if (await showQueue(table, name, restoring.data)) return true;
      } while (hasTime());
      return false;
    },
    // One transaction, which also replaces the mark of the deletion, so that the operation that removes marked
    // subscriptions leaves it alone.
    restoreSubscription: (target) => {
      const { queue, subscriptionId, now } = target;
      return retryChange(table, `subscription ${queue}/${subscriptionId}`, async () => {
        const archive = await findSubscriptionArchive(table, target);
        if (archive === undefined) return { kind: 'missing' };
        const { item, subscription } = restoredItem(archive, now);
        const result = await transactWrite(table, returns(target, item, subscription));
        if (result.kind === 'written') return { kind: 'restored', subscription };
        const [queueWrite, claimWrite] = result.writes;
        if (queueWrite?.failed === true) throw new QueueMissingError(queue);
        if (claimWrite?.failed !== true) return 'again';
        const holder = toHolder(claimWrite.item);
        if (await releaseSubscriber(table, subscription, holder)) return 'again';
        return { kind: 'conflict', subscriptionId: holder };
      });
    },
  };
}

function toArchive(item: unknown): Archive {
  return decodeRecord(archiveSchema, item);
}

function toArchivedQueue(archived: unknown): ArchivedQueue {
  const { item, ...deletion } = toArchive(archived);
  return { ...deletion, queue: toQueue(item) };
}

function toArchivedSubscription({ item, ...deletion }: Archive): ArchivedSubscription {
  return { ...deletion, subscription: toSubscription(item) };
}

/** TTL deletes archives late, so their own time decides. */
function unexpired(query: ReturnType<typeof queryOfPrefix>, now: number) {
  return {
    ...query,
    ConsistentRead: true,
    FilterExpression: 'restorableUntil > :now',
    ExpressionAttributeValues: { ...query.ExpressionAttributeValues, ':now': now },
  };
}

/** What can be restored of a subscription: its item, and the same as a domain value. */
async function findSubscriptionArchive(
  table: Table,
  { now, ...key }: SubscriptionAt,
): Promise<(ArchivedSubscription & Pick<Archive, 'item'>) | undefined> {
  const item = await readItem(table, subscriptionArchiveKey(key));
  if (item === undefined) return undefined;
  const archive = toArchive(item);
  const found = toArchivedSubscription(archive);
  const isRestorable = found.restorableUntil > now && isPresent(found.subscription, now);
  return isRestorable ? { ...found, item: archive.item } : undefined;
}

const { partition, sort } = subscriptionIndexes.queues;

function beginningOf({ item, deletedAt, restorableUntil }: Archive) {
  const { [partition]: _partition, [sort]: _sort, ...hidden } = item;
  return {
    Item: { ...hidden, deletedAt, restorableUntil, restoring: true },
    ConditionExpression: `${ABSENT} OR (deletedAt = :deletedAt AND attribute_not_exists(restoring))`,
    ExpressionAttributeValues: { ':deletedAt': deletedAt },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
}

const restoringSchema = z.looseObject({
  deletedAt: z.number(),
  restorableUntil: z.number(),
  restoring: z.literal(true),
  pauses: z.array(pauseSchema).exactOptional(),
});

function isBeingRestored(deletedAt: number) {
  return {
    ConditionExpression: 'deletedAt = :deletedAt AND attribute_exists(restoring)',
    ExpressionAttributeValues: { ':deletedAt': deletedAt },
  };
}

function movesBack(
  archives: readonly Archive[],
  { queue, deletedAt, at }: { queue: string; deletedAt: number; at: number },
) {
  const pk = subscriptionArchive(queue, deletedAt);
  const restored = archives.map((archive) => restoredItem(archive, at));
  // Two could share a subscriber if clocks differ, and a transaction may contain an item only once.
  const claims = restored.map(({ subscription }) => toSubscriberItem(subscription));
  return [
    { ConditionCheck: { Key: queueItemKey(queue), ...isBeingRestored(deletedAt) } },
    ...restored.flatMap(({ item, subscription: { id } }) => [
      { Put: { Item: item } },
      {
        Delete: { Key: { pk, sk: `${subscriptionPrefix}${id}` }, ConditionExpression: `NOT (${ABSENT})` },
      },
    ]),
    ...new Map(claims.map((Item) => [Item.sk, { Put: { Item } }])).values(),
  ];
}

/** An archived subscription and its item from now on. An old streak of failures must not disable it. */
function restoredItem({ item: archived, deletedAt }: Archive, at: number) {
  const { failing: _, ...healthy } = archived;
  const restored = { ...healthy, restored: { deletedAt, at } };
  const subscription = renewPause(toSubscription(restored), at);
  const { pauses } = subscription;
  return { item: { ...restored, ...(pauses && { pauses }) }, subscription };
}

/** Shows the queue to all callers and removes its archive. False: it is no longer being restored. */
async function showQueue(
  table: RegistryTable,
  name: string,
  restoring: z.infer<typeof restoringSchema>,
): Promise<boolean> {
  const { deletedAt, restorableUntil: _until, restoring: _is, ...queue } = restoring;
  const restoredAt = table.clock.now();
  const result = await transactWrite(table, [
    {
      Put: {
        Item: { ...renewPause(queue, restoredAt), restoredAt, [partition]: QUEUES, [sort]: name },
        ...isBeingRestored(deletedAt),
      },
    },
    { Delete: { Key: queueArchiveKey(name, deletedAt) } },
  ]);
  return result.kind === 'written';
}

function returns({ now, ...key }: SubscriptionAt, Item: Item, subscription: Subscription) {
  return [
    countAdded(key.queue, 1),
    putClaim(subscription, now),
    { Put: { Item, ConditionExpression: `${ABSENT} OR attribute_exists(deletedAt)` } },
    { Delete: { Key: subscriptionArchiveKey(key), ConditionExpression: `NOT (${ABSENT})` } },
  ];
}
