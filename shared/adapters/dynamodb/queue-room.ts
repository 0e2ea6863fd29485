import * as z from 'zod';
import { ContendedError, withRetriedWrites } from '../../domain/contention.ts';
import { primaryKey } from '../../config/tables.ts';
import { type Amount, amountOf, fits, sumOf } from '../../domain/subscription/room.ts';
import { isPresent } from '../../domain/subscription/subscription.ts';
import { pagesOf } from './queries.ts';
import {
  isDeletedQueue,
  queueItemKey,
  queuePartition,
  subscriptionOf,
  subscriptionPrefix,
} from './subscription-item.ts';
import { pausesOf, type RegistryTable, THERE } from './subscription-writes.ts';
import { conditional, ifUndisturbed } from './writes.ts';
import { TransactionConflictException } from '@aws-sdk/client-dynamodb';

/** A full queue is read whole no more often than this, however often somebody asks for room. */
const COUNT_AGAIN_AFTER_MS = 60_000;

/**
 * Takes room on a queue's item. What is taken there is an upper bound: nobody gives room back, and a subscription that ends by its
 * `ttl` could not. Where the bound leaves no room, and on a queue of an earlier version, which has none, what is there is counted.
 * A queue that is not there has room: whoever adds to it finds that out.
 */
export async function takeRoom(
  table: RegistryTable,
  queue: string,
  more: Amount,
  most: Amount,
): Promise<boolean> {
  const taken = await withRetriedWrites(() => take(table, queue, more, most), pausesOf(table));
  if (taken === 'again') throw new ContendedError(`queue ${queue}`);
  return taken;
}

async function take(
  table: RegistryTable,
  queue: string,
  more: Amount,
  most: Amount,
): Promise<boolean | 'again'> {
  const taking = table.client.update({
    TableName: table.tableName,
    Key: queueItemKey(queue),
    UpdateExpression: 'ADD roomSubscriptions :subscriptions, roomBytes :bytes',
    ConditionExpression: `${THERE} AND roomSubscriptions <= :leftSubscriptions AND roomBytes <= :leftBytes`,
    ExpressionAttributeValues: {
      ':subscriptions': more.subscriptions,
      ':bytes': more.bytes,
      ':leftSubscriptions': most.subscriptions - more.subscriptions,
      ':leftBytes': most.bytes - more.bytes,
    },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  });
  const result = await conditional(taking).catch(passingConflict);
  if (result === 'again') return 'again';
  if (result.kind === 'written' || result.item === undefined || isDeletedQueue(result.item)) return true;
  const { roomCountedAt = -Infinity } = countedSchema.parse(result.item);
  const now = table.clock.now();
  return now >= roomCountedAt + COUNT_AGAIN_AFTER_MS && (await takeCounted(table, queue, more, most));
}

const countedSchema = z.object({ roomCountedAt: z.number().exactOptional() });

/** A transaction had the queue's item just then. */
function passingConflict(error: unknown): 'again' {
  if (error instanceof TransactionConflictException) return 'again';
  throw error;
}

/** What others add while it counts is not in the bound: it may be passed by as much. */
async function takeCounted(
  table: RegistryTable,
  queue: string,
  more: Amount,
  most: Amount,
): Promise<boolean | 'again'> {
  const { client, tableName, clock } = table;
  const now = clock.now();
  let there: Amount = { subscriptions: 0, bytes: 0 };
  const query = {
    TableName: tableName,
    ConsistentRead: true,
    KeyConditionExpression: `${primaryKey.partition} = :queue AND begins_with(${primaryKey.sort}, :prefix)`,
    ExpressionAttributeValues: { ':queue': queuePartition(queue), ':prefix': subscriptionPrefix },
  };
  for await (const items of pagesOf(client, query)) {
    const present = items.map(subscriptionOf).filter((subscription) => isPresent(subscription, now));
    there = sumOf(there, amountOf(present));
  }
  const all = sumOf(there, more);
  const hasRoom = fits(all, most);
  const { subscriptions, bytes } = hasRoom ? all : there;
  const written = await ifUndisturbed(
    client.update({
      TableName: tableName,
      Key: queueItemKey(queue),
      UpdateExpression: 'SET roomSubscriptions = :subscriptions, roomBytes = :bytes, roomCountedAt = :now',
      ConditionExpression: THERE,
      ExpressionAttributeValues: { ':subscriptions': subscriptions, ':bytes': bytes, ':now': now },
    }),
  );
  return written === undefined ? 'again' : hasRoom;
}
