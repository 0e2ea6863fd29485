import { parseDestination } from '../../../domain/subscription/destination.ts';
import * as z from 'zod';
import { subscriptionIndexes } from '../../../config/tables.ts';
import type { Deletion, Queue } from '../../../domain/subscription/subscription.ts';
import {
  MAX_ARCHIVED_PER_TRANSACTION,
  MAX_SUBSCRIPTIONS_PER_TRANSACTION,
  QueueBeingDeletedError,
  type RegistryQueues,
  REMOVAL_BUDGET_MS,
} from '../../../ports/subscriptions.ts';
import { archiveSubscriptions, putArchive, queueArchiveKey } from './archives.ts';
import {
  ABSENT,
  buildUpdate,
  changeStored,
  conditional,
  EXISTS,
  expression,
  ifConditionHolds,
  putIfAbsent,
  type RegistryTable,
  retryChange,
  transactWrite,
} from '../writes.ts';
import { QUEUE_LISTING } from '../pages.ts';
import { listItems, type Query, queryItems, readItem, responsesOf } from '../queries.ts';
import {
  findStoredQueue,
  isDeletedQueue,
  isRestoringQueue,
  NOT_DELETED,
  queryOfSubscriptions,
  queueItemKey,
  QUEUES,
  subscriberItemKey,
  toQueue,
  toQueueAttributes,
  toQueueItem,
} from './subscription-item.ts';

/** The queues of the registry. */
export function dynamoQueues(table: RegistryTable): RegistryQueues {
  return {
    // An update, because the count of subscriptions and `createdAt` of an existing queue stay.
    putQueue: async (queue) => {
      const expr = expression();
      const attributes = { retryPolicy: undefined, ...toQueueAttributes(queue) };
      const update = {
        Key: queueItemKey(queue.name),
        UpdateExpression: expr.update(attributes, expr.setOnce('createdAt', queue.createdAt)),
        ConditionExpression: NOT_DELETED,
        ReturnValues: 'ALL_OLD' as const,
        ...expr.attributes(),
      };
      const { Attributes } = await writeAfterRemoval(table, queue.name, () =>
        ifConditionHolds(table.update(update)),
      );
      return Attributes === undefined
        ? { kind: 'created' }
        : { kind: 'replaced', before: toQueue(Attributes) };
    },
    ensureQueue: async (queue) => {
      await writeAfterRemoval(table, queue.name, async () => {
        const result = await conditional(table.put(putIfAbsent(toQueueItem(queue))));
        return result.kind === 'refused' && isDeletedQueue(result.item) ? undefined : 'there';
      });
    },
    findQueue: async (name) => (await findStoredQueue(table, name))?.current,
    listQueues: (page, part) =>
      listItems(table, QUEUE_LISTING, page, {
        query: queryOfQueues(part),
        keyOf: (name) => ({ ...queueItemKey(name), [partition]: QUEUES, [sort]: name }),
        parse: toQueue,
        nameOf: ({ name }) => name,
      }),
    countQueues: async (part) => {
      let count = 0;
      for await (const { Count = 0 } of responsesOf(table, { ...queryOfQueues(part), Select: 'COUNT' }))
        count += Count;
      return count;
    },
    changeQueue: (name, change) => {
      const Key = queueItemKey(name);
      return changeStored<Queue>(table, `queue ${name}`, {
        find: () => findStoredQueue(table, name),
        change,
        toItem: toQueueAttributes,
        write: async ({ found: { item }, edits, token }) => {
          // All metadata as read, and the same incarnation of the queue: a patch applies to the metadata as a whole.
          const guards = { createdAt: item['createdAt'], metadata: item['metadata'], deletedAt: undefined };
          const written = await ifConditionHolds(table.update({ Key, ...buildUpdate(edits, guards, token) }));
          return written === undefined ? 'again' : 'written';
        },
      });
    },
    // Hides the queue from all callers. Its item stays until everything else of it is removed. The same transaction
    // archives it; its subscriptions follow. One that is being restored is deleted again, to its archive.
    deleteQueue: (name, now, restorableUntil) =>
      retryChange(table, `queue ${name}`, async () => {
        const Key = queueItemKey(name);
        const item = await readItem(table, Key);
        if (item === undefined) return undefined;
        if (restorableUntil === undefined || isDeletedQueue(item)) {
          await ifConditionHolds(table.update({ Key, ...hide(now) }));
          return { restorableUntil: findDeletion(item)?.restorableUntil };
        }
        const deletion = { deletedAt: now, restorableUntil };
        const result = await transactWrite(table, [
          { Update: { Key, ...hideArchived(item, deletion) } },
          putArchive(queueArchiveKey(name, now), item, deletion),
        ]);
        return result.kind === 'written' ? { restorableUntil } : 'again';
      }),
    removeDeletedQueue: (name, hasTime) => removeDeletedQueue(table, name, hasTime),
  };
}

const { name: indexName, partition, sort } = subscriptionIndexes.queues;

/**
 * Queries all queues, or those whose name contains a text. The filter uses the copy `name`, because the index key
 * cannot be filtered.
 */
function queryOfQueues(part: string | undefined): Query {
  const all = {
    IndexName: indexName,
    KeyConditionExpression: `${partition} = :queues`,
    ExpressionAttributeValues: { ':queues': QUEUES },
  };
  if (part === undefined) return all;
  return {
    ...all,
    FilterExpression: 'contains(#name, :part)',
    ExpressionAttributeNames: { '#name': 'name' },
    ExpressionAttributeValues: { ...all.ExpressionAttributeValues, ':part': part },
  };
}

/**
 * Writes a queue. If a queue of that name is being deleted, removes the rest of it first and then writes again.
 * @throws QueueBeingDeletedError if the removal takes too long
 */
async function writeAfterRemoval<Written>(
  table: RegistryTable,
  name: string,
  write: () => Promise<Written | undefined>,
): Promise<Written> {
  const written = await write();
  if (written !== undefined) return written;
  const until = table.clock.now() + REMOVAL_BUDGET_MS;
  await removeDeletedQueue(table, name, () => table.clock.now() < until);
  const again = await write();
  if (again === undefined) throw new QueueBeingDeletedError(name);
  return again;
}

function hide(now: number) {
  return {
    UpdateExpression: `SET deletedAt = if_not_exists(deletedAt, :now) REMOVE ${partition}, ${sort}, restoring`,
    ConditionExpression: EXISTS,
    ExpressionAttributeValues: { ':now': now },
  };
}

/** What callers change must be as read, so that the archive has the last change of it. */
function hideArchived(item: Record<string, unknown>, deletion: Deletion) {
  const hidden = { ...deletion, [partition]: undefined, [sort]: undefined };
  const edits = Object.entries(hidden).map(([name, to]) => ({ name, from: item[name], to }));
  return buildUpdate(edits, {
    createdAt: item['createdAt'],
    metadata: item['metadata'],
    pauses: item['pauses'],
  });
}

/**
 * Removes the subscriptions of a deleted queue page by page, and the queue's item last. Each page is a
 * transaction that checks that the queue is still the deleted one and that each subscription has the subscriber
 * that was read: otherwise the claim on a changed subscriber would remain forever. If the queue has an archive, the
 * same transaction moves them there. False: out of time.
 */
async function removeDeletedQueue(
  table: RegistryTable,
  name: string,
  hasTime: () => boolean,
): Promise<boolean> {
  const Key = queueItemKey(name);
  do {
    const queue = await readItem(table, Key);
    if (!isDeletedQueue(queue) || isRestoringQueue(queue)) return true;
    const deletion = findDeletion(queue);
    const most = deletion === undefined ? MAX_SUBSCRIPTIONS_PER_TRANSACTION : MAX_ARCHIVED_PER_TRANSACTION;
    const items = (await queryItems(table, queryOfSubscriptions(name), most)).map((item) =>
      removable.parse(item),
    );
    const isDeleted = {
      Key,
      ConditionExpression: 'deletedAt = :deletedAt AND attribute_not_exists(restoring)',
      ExpressionAttributeValues: { ':deletedAt': queue?.['deletedAt'] },
    };
    if (items.length === 0) await ifConditionHolds(table.delete(isDeleted));
    else
      await transactWrite(table, [
        { ConditionCheck: isDeleted },
        ...(deletion === undefined ? [] : archiveSubscriptions(name, items, deletion)),
        ...buildDeletions(name, items),
      ]);
  } while (hasTime());
  return false;
}

const deletionSchema = z.object({ deletedAt: z.number(), restorableUntil: z.number() });

/** How a deleted queue can be restored; undefined: it leaves no archive. */
function findDeletion(item: unknown): Deletion | undefined {
  return deletionSchema.safeParse(item).data;
}

/** The fields that a deletion needs, so that items that are otherwise unreadable are removed too. */
const removable = z.looseObject({ pk: z.string(), sk: z.string(), subscriber: z.string() });

function buildDeletions(queue: string, subscriptions: readonly z.infer<typeof removable>[]) {
  // An expired subscription and its successor share a subscriber, and a transaction may contain an item only
  // once.
  const claims = new Map(
    subscriptions
      .map(({ subscriber }) => subscriberItemKey({ queue, destination: parseDestination(subscriber) }))
      .map((key) => [key.sk, key]),
  );
  return [
    ...subscriptions.map(({ pk, sk, subscriber }) => ({
      Delete: {
        Key: { pk, sk },
        ConditionExpression: `${ABSENT} OR subscriber = :asRead`,
        ExpressionAttributeValues: { ':asRead': subscriber },
      },
    })),
    ...[...claims.values()].map((Key) => ({ Delete: { Key } })),
  ];
}
