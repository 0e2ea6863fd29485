import * as z from 'zod';
import { ContendedError, withRetriedWrites } from '../../domain/contention.ts';
import { primaryKey } from '../../config/tables.ts';
import { type Amount, amountOf } from '../../domain/subscription/room.ts';
import { pagesOf } from './queries.ts';
import { isDeletedQueue, queueItemKey, queuePartition, subscriptionPrefix } from './subscription-item.ts';
import { retryOptions, type RegistryTable, QUEUE_EXISTS } from './subscription-writes.ts';
import { conditional, ifNoConflict } from './writes.ts';
import { TransactionConflictException } from '@aws-sdk/client-dynamodb';

/** A full queue is recounted at most this often, however many callers ask for room. */
const COUNT_AGAIN_AFTER_MS = 60_000;

type Room = { queue: string; more: Amount; most: Amount };

/**
 * Reserves room on a queue's item; false if the queue is full. The reserved amount is an upper bound: a deletion
 * does not reduce it, because an expiry by `ttl` could not either. If the bound leaves no room or does not exist yet,
 * the stored subscriptions are counted, including expired and deleted ones. A missing queue has room; the write that
 * follows fails.
 */
export async function takeRoom(table: RegistryTable, room: Room): Promise<boolean> {
  const taken = await withRetriedWrites(() => tryToTakeRoom(table, room), retryOptions(table));
  if (taken === 'again') throw new ContendedError(`queue ${room.queue}`);
  return taken;
}

async function tryToTakeRoom(table: RegistryTable, room: Room): Promise<boolean | 'again'> {
  const result = await conditional(table.client.update(reservationUpdate(table, room))).catch(
    retryAfterConflict,
  );
  if (result === 'again') return 'again';
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
function reservationUpdate({ tableName }: RegistryTable, { queue, more, most }: Room) {
  const grown = [
    ...(more.subscriptions > 0 ? ['roomSubscriptions <= :leftSubscriptions'] : []),
    ...(more.bytes > 0 ? ['roomBytes <= :leftBytes'] : []),
  ];
  return {
    TableName: tableName,
    Key: queueItemKey(queue),
    UpdateExpression: 'ADD roomSubscriptions :subscriptions, roomBytes :bytes',
    ConditionExpression: [QUEUE_EXISTS, 'attribute_exists(roomBytes)', ...grown].join(' AND '),
    ExpressionAttributeValues: {
      ':subscriptions': more.subscriptions,
      ':bytes': more.bytes,
      ...(more.subscriptions > 0 && { ':leftSubscriptions': most.subscriptions - more.subscriptions }),
      ...(more.bytes > 0 && { ':leftBytes': most.bytes - more.bytes }),
    },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
}

/** A transaction held the queue's item at that moment; the update is retried. */
function retryAfterConflict(error: unknown): 'again' {
  if (error instanceof TransactionConflictException) return 'again';
  throw error;
}

/**
 * Sets the bound to the stored amount, unless another caller has just done so or is doing it. The bound is
 * changed by the difference, so that concurrent reservations remain counted.
 */
async function recount(table: RegistryTable, queue: string, bound: Amount): Promise<void> {
  const { client, tableName, clock } = table;
  const queueItem = { TableName: tableName, Key: queueItemKey(queue) };
  const now = clock.now();
  const claimed = await ifNoConflict(
    client.update({
      ...queueItem,
      UpdateExpression: 'SET roomCountedAt = :now',
      ConditionExpression: `${QUEUE_EXISTS} AND (attribute_not_exists(roomCountedAt) OR roomCountedAt <= :before)`,
      ExpressionAttributeValues: { ':now': now, ':before': now - COUNT_AGAIN_AFTER_MS },
    }),
  );
  if (claimed === undefined) return;
  const stored = await countStored(table, queue);
  await ifNoConflict(
    client.update({
      ...queueItem,
      UpdateExpression: 'ADD roomSubscriptions :subscriptions, roomBytes :bytes',
      ConditionExpression: QUEUE_EXISTS,
      ExpressionAttributeValues: {
        ':subscriptions': stored.subscriptions - bound.subscriptions,
        ':bytes': stored.bytes - bound.bytes,
      },
    }),
  );
}

async function countStored({ client, tableName }: RegistryTable, queue: string): Promise<Amount> {
  const stored: Amount = { subscriptions: 0, bytes: 0 };
  const query = {
    TableName: tableName,
    ConsistentRead: true,
    KeyConditionExpression: `${primaryKey.partition} = :queue AND begins_with(${primaryKey.sort}, :prefix)`,
    ExpressionAttributeValues: { ':queue': queuePartition(queue), ':prefix': subscriptionPrefix },
  };
  for await (const items of pagesOf(client, query)) {
    const { subscriptions, bytes } = amountOf(items);
    stored.subscriptions += subscriptions;
    stored.bytes += bytes;
  }
  return stored;
}
