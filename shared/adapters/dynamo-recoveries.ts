import { randomBytes } from 'node:crypto';

import type { DocumentClient } from './aws/document-client.ts';
import { conditional } from './dynamo-condition.ts';
import { primaryKey } from '../config/tables.ts';
import type { Recovery } from '../domain/recovery.ts';
import type { Recoveries, RecoverySaving } from '../ports/recoveries.ts';
import { queriedItems } from './dynamo-query.ts';
import { lastOf, pageOf } from './page-marker.ts';
import {
  jobsPartitionOf,
  recoveryItemOf,
  recoveryKeyOf,
  recoveryOf,
  recoveryPrefix,
} from './recovery-item.ts';

/** Tells our own write, sent again because its answer was lost, from somebody else's (dynamo-deliveries.ts). */
const MARK = 'w';

/** The recoveries of a queue, in the deliveries table. */
export const dynamoRecoveries = (client: DocumentClient, tableName: string): Recoveries => ({
  create: async (recovery) => {
    const { put, mark } = putOf(tableName, recovery);
    const absent = { ...put, ConditionExpression: `attribute_not_exists(${primaryKey.partition})` };
    await answered(mark, client.put(absent), (error) => {
      throw error;
    });
  },
  find: async (queue, id) => {
    const { Item } = await client.get({
      TableName: tableName,
      Key: recoveryKeyOf(queue, id),
      ConsistentRead: true,
    });
    return Item === undefined ? undefined : recoveryOf(Item);
  },
  list: async (queue, page) => {
    const listing = `${queue}#recoveries`;
    const last = lastOf(listing, page);
    const items = await queriedItems(
      client,
      {
        TableName: tableName,
        ScanIndexForward: false,
        KeyConditionExpression: `${primaryKey.partition} = :jobs AND begins_with(${primaryKey.sort}, :prefix)`,
        ExpressionAttributeValues: { ':jobs': jobsPartitionOf(queue), ':prefix': recoveryPrefix },
        ExclusiveStartKey: last === undefined ? undefined : recoveryKeyOf(queue, last),
      },
      page.limit + 1,
    );
    return pageOf(listing, items.map(recoveryOf), page.limit, ({ id }) => id);
  },
  save: async (recovery) => {
    const { put, mark } = putOf(tableName, recovery);
    const unchanged = {
      ...put,
      ConditionExpression: '#version = :before',
      ExpressionAttributeNames: { '#version': 'version' },
      ExpressionAttributeValues: { ':before': recovery.version - 1 },
    };
    return await answered(mark, client.put(unchanged), (_error, current) => ({
      kind: 'refused',
      current,
    }));
  },
});

const putOf = (tableName: string, recovery: Recovery) => {
  const mark = randomBytes(9).toString('base64url');
  const put = {
    TableName: tableName,
    Item: { ...recoveryItemOf(recovery), [MARK]: mark },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
  };
  return { put, mark };
};

const answered = async (
  mark: string,
  write: Promise<unknown>,
  refused: (error: Error, current: Recovery | undefined) => RecoverySaving,
): Promise<RecoverySaving> => {
  const result = await conditional(write);
  if (result.kind === 'written' || result.item?.[MARK] === mark) return { kind: 'saved' };
  const { item, error } = result;
  return refused(error, item === undefined ? undefined : recoveryOf(item));
};
