import { ContendedError, withRetriedWrites } from '../../domain/contention.ts';
import { primaryKey } from '../../config/tables.ts';
import type { Queue } from '../../domain/subscription/subscription.ts';
import { type Changed, QueueBusyError, type Registry } from '../../ports/subscriptions.ts';
import { ifConditionHolds, ifUndisturbed, transacted } from './writes.ts';
import { editsOf, expression, updateOf } from './expressions.ts';
import { queriedItems } from './queries.ts';
import { pausesOf, type RegistryTable } from './subscription-writes.ts';
import {
  itemOf,
  queueAttributesOf,
  queueItemKey,
  queueItemOf,
  queueOf,
  queuePartition,
  type QueueTally,
  subscriberItemKey,
  subscriptionItemKey,
  subscriptionOf,
  subscriptionPrefix,
  tallyOf,
} from './subscription-item.ts';

/** An update, since the count of subscriptions and `createdAt` of an existing queue stay. */
export async function putQueue(
  { client, tableName }: RegistryTable,
  queue: Queue,
): ReturnType<Registry['putQueue']> {
  const to = expression();
  const sets = Object.entries(queueAttributesOf(queue)).map(
    ([name, value]) => `${to.name(name)} = ${to.value(value)}`,
  );
  const createdAt = to.name('createdAt');
  const { Attributes } = await client.update({
    TableName: tableName,
    Key: queueItemKey(queue.name),
    UpdateExpression: [
      `SET ${sets.join(', ')}, ${createdAt} = if_not_exists(${createdAt}, ${to.value(queue.createdAt)})`,
      ...(queue.retryPolicy === undefined ? [`REMOVE ${to.name('retryPolicy')}`] : []),
    ].join(' '),
    ReturnValues: 'ALL_OLD',
    ...to.attributes(),
  });
  return Attributes === undefined ? { kind: 'created' } : { kind: 'replaced', before: queueOf(Attributes) };
}

export async function ensureQueue({ client, tableName }: RegistryTable, queue: Queue): Promise<void> {
  const put = client.put({
    TableName: tableName,
    Item: queueItemOf(queue),
    ConditionExpression: `attribute_not_exists(${primaryKey.partition})`,
  });
  await ifConditionHolds(put);
}

const MAX_ROUNDS = 10;

/**
 * Subscriptions first, the queue's own item last, and that only if no subscription was added since the first were listed:
 * one that was would outlive its queue, and come back to life with the next queue of that name.
 */
export async function deleteQueue(table: RegistryTable, name: string): Promise<void> {
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    const tally = await tallyOfQueue(table, name);
    await deleteSubscriptions(table, name);
    if (tally === undefined || (await deleteItem(table, name, tally))) return;
  }
  throw new QueueBusyError(name);
}

async function tallyOfQueue(
  { client, tableName }: RegistryTable,
  name: string,
): Promise<QueueTally | undefined> {
  const { Item } = await client.get({ TableName: tableName, Key: queueItemKey(name), ConsistentRead: true });
  return Item === undefined ? undefined : tallyOf(Item);
}

async function deleteItem(
  { client, tableName }: RegistryTable,
  name: string,
  { createdAt, subscriptionsAdded }: QueueTally,
): Promise<boolean> {
  const deletion = client.delete({
    TableName: tableName,
    Key: queueItemKey(name),
    ConditionExpression:
      subscriptionsAdded === 0
        ? 'createdAt = :createdAt AND attribute_not_exists(subscriptionsAdded)'
        : 'createdAt = :createdAt AND subscriptionsAdded = :added',
    ExpressionAttributeValues: {
      ':createdAt': createdAt,
      ...(subscriptionsAdded === 0 ? {} : { ':added': subscriptionsAdded }),
    },
  });
  return (await ifConditionHolds(deletion)) !== undefined;
}

/** A subscription goes together with its claim on the subscriber: two items, and a transaction takes 100. */
const PAIRS_IN_A_TRANSACTION = 50;

/**
 * A page at a time, each subscription as it was read and else not at all: the claim that goes with one whose subscriber was
 * changed meanwhile is another than the one read, and would stay for ever.
 * @throws QueueBusyError
 */
async function deleteSubscriptions(table: RegistryTable, queue: string): Promise<void> {
  let refused = 0;
  for (;;) {
    const items = await subscriptionItems(table, queue);
    if (items.length === 0) return;
    const result = await transacted(table.client, table.clock, deletionsOf(table, items));
    refused = result.kind === 'refused' ? refused + 1 : 0;
    if (refused === MAX_ROUNDS) throw new QueueBusyError(queue);
  }
}

function subscriptionItems({ client, tableName }: RegistryTable, queue: string): Promise<readonly unknown[]> {
  return queriedItems(
    client,
    {
      TableName: tableName,
      ConsistentRead: true,
      KeyConditionExpression: `${primaryKey.partition} = :queue AND begins_with(${primaryKey.sort}, :prefix)`,
      ExpressionAttributeValues: { ':queue': queuePartition(queue), ':prefix': subscriptionPrefix },
    },
    PAIRS_IN_A_TRANSACTION,
  );
}

function deletionsOf({ tableName }: RegistryTable, items: readonly unknown[]) {
  const subscriptions = items.map(subscriptionOf);
  // One that expired and its successor share a subscriber, and a transaction takes an item once.
  const claims = new Map(subscriptions.map(subscriberItemKey).map((key) => [key.sk, key]));
  return [
    ...subscriptions.map(({ queue, id, subscriber }) => ({
      Delete: {
        TableName: tableName,
        Key: subscriptionItemKey(queue, id),
        ConditionExpression: `attribute_not_exists(${primaryKey.partition}) OR subscriber = :asRead`,
        ExpressionAttributeValues: { ':asRead': subscriber },
      },
    })),
    ...[...claims.values()].map((Key) => ({ Delete: { TableName: tableName, Key } })),
  ];
}

export async function changeQueue(
  table: RegistryTable,
  name: string,
  change: (current: Queue) => Queue,
): Promise<Changed<Queue>> {
  const { client, tableName } = table;
  const at = { TableName: tableName, Key: queueItemKey(name) };
  const changed = await withRetriedWrites<Changed<Queue>>(async () => {
    const { Item } = await client.get({ ...at, ConsistentRead: true });
    if (Item === undefined) return { kind: 'missing' };
    const item = itemOf(Item);
    const before = queueOf(Item);
    const after = change(before);
    const edits = editsOf(item, queueAttributesOf(before), queueAttributesOf(after));
    if (edits.length === 0) return { kind: 'left', current: before };
    // All of the metadata as read, and of this life of the queue: a patch says what it says of the whole.
    const guards = { createdAt: item['createdAt'], metadata: item['metadata'] };
    const write = client.update({ ...at, ...updateOf(edits, guards) });
    return (await ifUndisturbed(write)) === undefined ? 'again' : { kind: 'changed', before, after };
  }, pausesOf(table));
  if (changed === 'again') throw new ContendedError(`queue ${name}`);
  return changed;
}
