import type { DynamoDBDocument, QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { primaryKey, subscriptionIndexes } from '../../config/tables.ts';
import type { Registry } from '../../ports/subscriptions.ts';
import { changeQueue, deleteQueue, ensureQueue, putQueue, removeDeletedQueue } from './queues.ts';
import { answersOf, queriedItems } from './queries.ts';
import { changeSubscription, markDeleted } from './subscription-changes.ts';
import { addSubscription, type RegistryTable, removeMarked } from './subscription-writes.ts';
import type { Pacing } from '../lambda/invocation-deadline.ts';
import { lastOf, pageOf, QUEUE_LISTING } from './page-marker.ts';
import {
  holderOf,
  isDeletedQueue,
  queueItemKey,
  queueOf,
  queuePartition,
  QUEUES,
  subscriberItemKey,
  subscriptionItemKey,
  subscriptionOf,
  subscriptionPrefix,
} from './subscription-item.ts';

/** The subscriptions table as administration sees it. Errors of AWS pass through, but for what is an answer. */
export function dynamoRegistry(client: DynamoDBDocument, tableName: string, clock: Pacing): Registry {
  const table: RegistryTable = { client, tableName, clock };

  const item = async (key: Record<string, string>): Promise<unknown> => {
    const { Item } = await client.get({ TableName: tableName, Key: key, ConsistentRead: true });
    return Item;
  };

  const findSubscription: Registry['findSubscription'] = async (queue, subscriptionId) => {
    const [own, found] = await Promise.all([
      item(queueItemKey(queue)),
      item(subscriptionItemKey(queue, subscriptionId)),
    ]);
    return found === undefined || isDeletedQueue(own) ? undefined : subscriptionOf(found);
  };

  return {
    putQueue: (queue) => putQueue(table, queue),
    changeQueue: (name, change) => changeQueue(table, name, change),
    ensureQueue: (queue) => ensureQueue(table, queue),
    findQueue: async (name) => {
      const found = await item(queueItemKey(name));
      return found === undefined || isDeletedQueue(found) ? undefined : queueOf(found);
    },
    listQueues: async (page, part) => {
      const last = lastOf(QUEUE_LISTING, page);
      const { partition, sort } = subscriptionIndexes.queues;
      const items = await queriedItems(
        client,
        {
          ...queryOfQueues(tableName, part),
          ExclusiveStartKey:
            last === undefined ? undefined : { ...queueItemKey(last), [partition]: QUEUES, [sort]: last },
        },
        page.limit + 1,
      );
      return pageOf(QUEUE_LISTING, items.map(queueOf), page.limit, (queue) => queue.name);
    },
    countQueues: async (part) => {
      let count = 0;
      for await (const { Count = 0 } of answersOf(client, {
        ...queryOfQueues(tableName, part),
        Select: 'COUNT',
      }))
        count += Count;
      return count;
    },
    deleteQueue: (name, now) => deleteQueue(table, name, now),
    removeDeletedQueue: (name, hasTime) => removeDeletedQueue(table, name, hasTime),
    addSubscription: (subscription) => addSubscription(table, subscription),
    findSubscription,
    findBySubscriber: async (queue, subscriber) => {
      const claim = await item(subscriberItemKey({ queue, subscriber }));
      return claim === undefined ? undefined : findSubscription(queue, holderOf(claim));
    },
    listSubscriptions: async (queue, page) => {
      const last = lastOf(queue, page);
      const items = await queriedItems(
        client,
        {
          TableName: tableName,
          ConsistentRead: true,
          KeyConditionExpression: `${primaryKey.partition} = :queue AND begins_with(${primaryKey.sort}, :prefix)`,
          ExpressionAttributeValues: { ':queue': queuePartition(queue), ':prefix': subscriptionPrefix },
          ExclusiveStartKey: last === undefined ? undefined : subscriptionItemKey(queue, last),
        },
        page.limit + 1,
      );
      return pageOf(queue, items.map(subscriptionOf), page.limit, ({ id }) => id);
    },
    changeSubscription: (target, change) => changeSubscription(table, target, change),
    markDeleted: (target) => markDeleted(table, target),
    removeMarked: (queue, subscriptionId) => removeMarked(table, queue, subscriptionId),
  };
}

/** All queues, or those whose name contains a text. A name cannot be filtered by as the index's key, but by its copy. */
function queryOfQueues(tableName: string, part: string | undefined): QueryCommandInput {
  const { name, partition } = subscriptionIndexes.queues;
  const all = {
    TableName: tableName,
    IndexName: name,
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
