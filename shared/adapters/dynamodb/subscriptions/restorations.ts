import * as z from 'zod';
import { subscriptionIndexes } from '../../../config/tables.ts';
import { pauseSchema, renewPause } from '../../../domain/subscription/pause.ts';
import {
  MAX_ARCHIVED_PER_TRANSACTION,
  QueueBeingDeletedError,
  QueueMissingError,
  type Registry,
  type SubscriptionAt,
} from '../../../ports/subscriptions.ts';
import {
  type Archive,
  findQueueArchive,
  findSubscriptionArchive,
  queueArchiveKey,
  subscriptionArchive,
  subscriptionArchiveKey,
  toArchive,
} from './archives.ts';
import { queryItems, queryOfPrefix, readItem } from '../queries.ts';
import type { ItemKey } from '../record.ts';
import {
  isDeletedQueue,
  isRestoringQueue,
  queueItemKey,
  QUEUES,
  subscriptionPrefix,
  toHolder,
  toSubscriberItem,
  toSubscription,
} from './subscription-item.ts';
import { countAdded, putClaim, releaseSubscriber } from './subscription-writes.ts';
import {
  ABSENT,
  conditional,
  type RegistryTable,
  retryAfterConflict,
  retryChange,
  transactWrite,
} from '../writes.ts';

type Item = Record<string, unknown>;

const { partition, sort } = subscriptionIndexes.queues;

/**
 * Writes the archived queue back as a deleted one that is being restored, so that no caller sees it before its
 * subscriptions are back. A deletion that still moves them to the archive stops.
 * @throws QueueBeingDeletedError while another deletion of the name goes on
 */
export function restoreQueue(
  table: RegistryTable,
  name: string,
  now: number,
  until?: number,
): ReturnType<Registry['restoreQueue']> {
  const attempt = async () => {
    const archive = await findQueueArchive(table, name, now, until);
    if (archive === undefined) return 'missing';
    const put = table.put(beginningOf(archive));
    const result = await conditional(put).catch(retryAfterConflict);
    if (result === 'again') return 'again';
    if (result.kind === 'written' || isRestoringQueue(result.item)) return 'restoring';
    if (!isDeletedQueue(result.item)) return 'exists';
    throw new QueueBeingDeletedError(name);
  };
  return retryChange(table, `queue ${name}`, attempt);
}

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

/**
 * Brings the subscriptions of a queue that is being restored back page by page, then the queue. Each page is a
 * transaction, so that a subscription is either in the archive or in the queue.
 */
export async function completeRestoredQueue(
  table: RegistryTable,
  name: string,
  hasTime: () => boolean,
): Promise<boolean> {
  do {
    const restoring = restoringSchema.safeParse(await readItem(table, queueItemKey(name)));
    if (!restoring.success) return true;
    const { deletedAt } = restoring.data;
    const archived = queryOfPrefix(subscriptionArchive(name, deletedAt), subscriptionPrefix);
    const items = await queryItems(
      table,
      { ...archived, ConsistentRead: true },
      MAX_ARCHIVED_PER_TRANSACTION,
    );
    if (items.length > 0) {
      const at = table.clock.now();
      await transactWrite(table, movesBack(items.map(toArchive), { queue: name, deletedAt, at }));
    } else if (await showQueue(table, name, restoring.data)) return true;
  } while (hasTime());
  return false;
}

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
  const claims = new Map(restored.map(({ claim }) => [claim.sk, claim]));
  return [
    { ConditionCheck: { Key: queueItemKey(queue), ...isBeingRestored(deletedAt) } },
    ...restored.flatMap(({ item, subscription: { id } }) => [
      { Put: { Item: item } },
      {
        Delete: { Key: { pk, sk: `${subscriptionPrefix}${id}` }, ConditionExpression: `NOT (${ABSENT})` },
      },
    ]),
    ...[...claims.values()].map((Item) => ({ Put: { Item } })),
  ];
}

/** An archived subscription, its item and its claim from now on. An old streak of failures must not disable it. */
function restoredItem({ item: archived, deletedAt }: Archive, at: number) {
  const { failing: _, ...healthy } = archived;
  const restored = { ...healthy, restored: { deletedAt, at } };
  const subscription = renewPause(toSubscription(restored), at);
  const { pauses } = subscription;
  return {
    item: { ...restored, ...(pauses && { pauses }) },
    subscription,
    claim: toSubscriberItem(subscription),
  };
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

/**
 * One transaction, which also replaces the mark of the deletion, so that the operation that removes marked subscriptions
 * leaves it alone.
 */
export function restoreSubscription(
  table: RegistryTable,
  target: SubscriptionAt,
): ReturnType<Registry['restoreSubscription']> {
  const { queue, subscriptionId, now } = target;
  const attempt = async () => {
    const archive = await findSubscriptionArchive(table, target);
    if (archive === undefined) return { kind: 'missing' as const };
    const { item, subscription, claim } = restoredItem(archive, now);
    const result = await transactWrite(table, returns(target, item, claim));
    if (result.kind === 'written') return { kind: 'restored' as const, subscription };
    const [queueWrite, claimWrite] = result.writes;
    if (queueWrite?.failed === true) throw new QueueMissingError(queue);
    if (claimWrite?.failed !== true) return 'again';
    const holder = toHolder(claimWrite.item);
    if (await releaseSubscriber(table, subscription, holder)) return 'again';
    return { kind: 'conflict' as const, subscriptionId: holder };
  };
  return retryChange(table, `subscription ${queue}/${subscriptionId}`, attempt);
}

function returns({ now, ...key }: SubscriptionAt, Item: Item, claim: ItemKey) {
  return [
    countAdded(key.queue, 1),
    putClaim(claim, now),
    { Put: { Item, ConditionExpression: `${ABSENT} OR attribute_exists(deletedAt)` } },
    { Delete: { Key: subscriptionArchiveKey(key), ConditionExpression: `NOT (${ABSENT})` } },
  ];
}
