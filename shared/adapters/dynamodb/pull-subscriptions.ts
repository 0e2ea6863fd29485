import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { subscriptionIndexes } from '../../config/tables.ts';
import type { PullSubscriptions } from '../../ports/subscriptions.ts';
import { decode } from './record.ts';
import { PULLS, pullSortOf } from './subscription-item.ts';

const listedSchema = z
  .object({ queue: z.string(), id: z.string(), expiresAt: z.number().exactOptional() })
  .transform(({ id, ...listed }) => ({ ...listed, subscriptionId: id }));

const PAGE = 1000;

/** The pull subscriptions in the index of the queues. AWS errors pass through. */
export function dynamoPullSubscriptions(client: DynamoDBDocument, tableName: string): PullSubscriptions {
  const { name, partition, sort } = subscriptionIndexes.queues;
  return {
    after: async (last) => {
      const { Items = [] } = await client.query({
        TableName: tableName,
        IndexName: name,
        KeyConditionExpression: `${partition} = :pulls AND ${sort} > :last`,
        ProjectionExpression: '#queue, id, expiresAt',
        ExpressionAttributeNames: { '#queue': 'queue' },
        // The lowest sort key sorts after a blank.
        ExpressionAttributeValues: { ':pulls': PULLS, ':last': last === undefined ? ' ' : pullSortOf(last) },
        Limit: PAGE,
      });
      return Items.map((item) => decode(listedSchema, item));
    },
  };
}
