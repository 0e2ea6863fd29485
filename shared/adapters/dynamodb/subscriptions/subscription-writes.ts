import * as z from 'zod';
import { type Amount, measureAmount } from '../../../domain/subscription/room.ts';
import { isPresent, type Subscription } from '../../../domain/subscription/subscription.ts';
import {
  type AddBounds,
  type AddResult,
  QueueFullError,
  QueueMissingError,
} from '../../../ports/subscriptions.ts';
import {
  isDeletedQueue,
  NOT_DELETED,
  queryOfSubscriptions,
  queueItemKey,
  subscriberItemKey,
  subscriptionItemKey,
  toHolder,
  toSubscriberItem,
  toSubscription,
  toSubscriptionItem,
} from './subscription-item.ts';
import { pagesOf, readItem } from '../queries.ts';
import {
  ABSENT,
  conditional,
  EXISTS,
  expression,
  ifConditionHolds,
  type RegistryTable,
  retryChange,
  transactWrite,
} from '../writes.ts';

/** The queue exists. */
const QUEUE_EXISTS = `${EXISTS} AND ${NOT_DELETED}`;

/**
 * Adds subscriptions. A claim whose subscription is gone is released once; if another subscription takes it
 * first, that is a conflict. A transaction writes all or nothing, so subscriptions with conflicts are left out of
 * the next one.
 */
export async function addSubscriptions(
  table: RegistryTable,
  subscriptions: readonly Subscription[],
  bounds?: AddBounds,
): Promise<readonly AddResult[]> {
  const conflicts = new Map<string, AddResult>();
  const freed = new Set<string>();
  for (let left = subscriptions; left.length > 0; left = left.filter(({ id }) => !conflicts.has(id))) {
    const refused = await add(table, left, bounds);
    if (refused.length === 0) break;
    for (const { subscription, holder } of refused) {
      const { id } = subscription;
      if (!freed.has(id) && (await releaseSubscriber(table, subscription, holder))) freed.add(id);
      else conflicts.set(id, { kind: 'conflict', subscriptionId: holder });
    }
  }
  return subscriptions.map(({ id }) => conflicts.get(id) ?? { kind: 'added' });
}

/**
 * One transaction: the subscriptions, a claim for each on its subscriber (unless another claim is in force), and
 * a counter on the queue, which shows new subscriptions to a deletion by an earlier version. If one is refused, none
 * is written. Returns those whose subscriber is claimed by another subscription, the `holder`.
 */
function add(
  table: RegistryTable,
  subscriptions: readonly Subscription[],
  bounds: AddBounds | undefined,
): Promise<readonly Claimed[]> {
  const queue = subscriptions[0]?.queue ?? '';
  const attempt = async () => {
    const unchanged = bounds && (await checkBounds(table, queue, subscriptions.length, bounds));
    return tryToAdd(table, subscriptions, unchanged);
  };
  return retryChange(table, `queue ${queue}`, attempt);
}

type Claimed = { subscription: Subscription; holder: string };

/**
 * The attributes of the queue by which a write sees that more subscriptions were added, or another queue created, since this
 * count.
 * @throws QueueMissingError, QueueFullError
 */
async function checkBounds(
  table: RegistryTable,
  queue: string,
  more: number,
  { createdAt, most }: AddBounds,
): Promise<Record<string, unknown>> {
  const item = await readItem(table, queueItemKey(queue));
  if (item?.['createdAt'] !== createdAt || isDeletedQueue(item)) throw new QueueMissingError(queue);
  const now = table.clock.now();
  let count = more;
  for await (const items of pagesOf(table, queryOfSubscriptions(queue)))
    count += items.filter((one) => isPresent(toSubscription(one), now)).length;
  if (count > most) throw new QueueFullError(queue, most);
  return { createdAt, subscriptionsAdded: item['subscriptionsAdded'] };
}

/** `unchanged`: attributes that the queue must still have. */
async function tryToAdd(
  table: RegistryTable,
  subscriptions: readonly Subscription[],
  unchanged: Record<string, unknown> | undefined,
): Promise<readonly Claimed[] | 'again'> {
  const queue = subscriptions[0]?.queue ?? '';
  const result = await transactWrite(table, [
    countAdded(queue, subscriptions.length, unchanged),
    ...subscriptions.map((one) => putClaim(one, one.createdAt)),
    ...subscriptions.map((subscription) => ({
      Put: { Item: toSubscriptionItem(subscription), ConditionExpression: ABSENT },
    })),
  ]);
  if (result.kind === 'written') return [];
  const [queueWrite, ...writes] = result.writes;
  if (queueWrite?.failed === true) {
    if (unchanged !== undefined) return 'again';
    throw new QueueMissingError(queue);
  }
  const refused = subscriptions.flatMap((subscription, index) => {
    const claim = writes[index];
    return claim?.failed === true ? [{ subscription, holder: toHolder(claim.item) }] : [];
  });
  if (refused.length === 0) throw result.error;
  return refused;
}

/**
 * Shows additions within bounds, and a deletion by an earlier version, that the queue has more subscriptions. Fails if the
 * queue is missing, or has other attributes than `unchanged`.
 */
export function countAdded(queue: string, count: number, unchanged: Record<string, unknown> = {}) {
  const expr = expression();
  const conditions = Object.entries(unchanged).map(([name, value]) => expr.equal(name, value));
  return {
    Update: {
      Key: queueItemKey(queue),
      UpdateExpression: expr.add({ subscriptionsAdded: count }),
      ConditionExpression: [QUEUE_EXISTS, ...conditions].join(' AND '),
      ...expr.attributes(),
    },
  };
}

/**
 * Claims the subscriber of a subscription, unless the claim of another one is in force. TTL may leave an expired claim in the
 * table for days; the next subscription takes it over.
 */
export function putClaim(subscription: Subscription, now: number) {
  return {
    Put: {
      Item: toSubscriberItem(subscription),
      ConditionExpression: `${ABSENT} OR subscriptionId = :id OR expiresAt <= :now`,
      ExpressionAttributeValues: { ':id': subscription.id, ':now': now },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    },
  };
}

/** Releases the claim on a subscriber, if this subscription has it. */
export function deleteClaim(claimed: Pick<Subscription, 'queue' | 'destination'>, holder: string) {
  return {
    Delete: {
      Key: subscriberItemKey(claimed),
      ConditionExpression: 'attribute_not_exists(subscriptionId) OR subscriptionId = :holder',
      ExpressionAttributeValues: { ':holder': holder },
    },
  };
}

/**
 * Releases the claim of a subscription that no longer exists. One transaction checks that the holder is still
 * absent and still has the claim. False: the claim stays.
 */
export async function releaseSubscriber(
  table: RegistryTable,
  wanted: Pick<Subscription, 'queue' | 'destination'>,
  holder: string,
): Promise<boolean> {
  const holderKey = subscriptionItemKey(wanted.queue, holder);
  if ((await readItem(table, holderKey)) !== undefined) return false;
  const result = await transactWrite(table, [
    { ConditionCheck: { Key: holderKey, ConditionExpression: ABSENT } },
    deleteClaim(wanted, holder),
  ]);
  return result.kind === 'written';
}

/** A full queue is recounted at most this often, however many callers ask for room. */
const COUNT_AGAIN_AFTER_MS = 60_000;

type Room = { queue: string; more: Amount; most: Amount };

/**
 * Reserves room on a queue's item; false if the queue is full. The reserved amount is an upper bound: a deletion
 * does not reduce it, because an expiry by `ttl` could not either. If the bound leaves no room or does not exist yet,
 * the stored subscriptions are counted, including expired and deleted ones. A missing queue has room; the write that
 * follows fails.
 */
export function takeRoom(table: RegistryTable, room: Room): Promise<boolean> {
  return retryChange(table, `queue ${room.queue}`, () => tryToTakeRoom(table, room));
}

async function tryToTakeRoom(table: RegistryTable, room: Room): Promise<boolean | 'again'> {
  const result = await conditional(table.update(reservationUpdate(room)));
  if (result.kind === 'written' || result.item === undefined || isDeletedQueue(result.item)) return true;
  const bound = boundSchema.parse(result.item);
  if (table.clock.now() >= bound.roomCountedAt + COUNT_AGAIN_AFTER_MS) {
    await recount(table, room.queue, { subscriptions: bound.roomSubscriptions, bytes: bound.roomBytes });
    return 'again';
  }
  // Another caller is still counting a queue that had no bound.
  return 'roomBytes' in result.item ? false : 'again';
}

const boundSchema = z.object({
  roomSubscriptions: z.number().default(0),
  roomBytes: z.number().default(0),
  roomCountedAt: z.number().default(-Infinity),
});

/** Amounts that do not grow are not checked. */
function reservationUpdate({ queue, more, most }: Room) {
  const expr = expression();
  const [subscriptions, bytes] = [expr.name('roomSubscriptions'), expr.name('roomBytes')];
  const conditions = [QUEUE_EXISTS, `attribute_exists(${bytes})`];
  if (more.subscriptions > 0)
    conditions.push(`${subscriptions} <= ${expr.value(most.subscriptions - more.subscriptions)}`);
  if (more.bytes > 0) conditions.push(`${bytes} <= ${expr.value(most.bytes - more.bytes)}`);
  return {
    Key: queueItemKey(queue),
    UpdateExpression: expr.add({ roomSubscriptions: more.subscriptions, roomBytes: more.bytes }),
    ConditionExpression: conditions.join(' AND '),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
    ...expr.attributes(),
  };
}

/**
 * Sets the bound to the stored amount, unless another caller has just done so or is doing it. The bound is
 * changed by the difference, so that concurrent reservations remain counted.
 */
async function recount(table: RegistryTable, queue: string, bound: Amount): Promise<void> {
  const Key = queueItemKey(queue);
  const now = table.clock.now();
  const claimed = await ifConditionHolds(
    table.update({
      Key,
      UpdateExpression: 'SET roomCountedAt = :now',
      ConditionExpression: `${QUEUE_EXISTS} AND (attribute_not_exists(roomCountedAt) OR roomCountedAt <= :before)`,
      ExpressionAttributeValues: { ':now': now, ':before': now - COUNT_AGAIN_AFTER_MS },
    }),
  );
  if (claimed === undefined) return;
  const stored = await countStored(table, queue);
  await ifConditionHolds(
    table.update({
      Key,
      UpdateExpression: 'ADD roomSubscriptions :subscriptions, roomBytes :bytes',
      ConditionExpression: QUEUE_EXISTS,
      ExpressionAttributeValues: {
        ':subscriptions': stored.subscriptions - bound.subscriptions,
        ':bytes': stored.bytes - bound.bytes,
      },
    }),
  );
}

async function countStored(table: RegistryTable, queue: string): Promise<Amount> {
  const stored: Amount = { subscriptions: 0, bytes: 0 };
  for await (const items of pagesOf(table, queryOfSubscriptions(queue))) {
    const { subscriptions, bytes } = measureAmount(items);
    stored.subscriptions += subscriptions;
    stored.bytes += bytes;
  }
  return stored;
}
