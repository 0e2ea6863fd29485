import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, QueryCommand } from '@aws-sdk/lib-dynamodb';

const dynamo = DynamoDBDocumentClient.from(new DynamoDBClient());

/** Shards of the indexes of deliveries (shared/adapters/dynamodb/queries.ts). */
const SHARDS = 8;

/** The calls of reconcile and operate where nothing is found, and nothing of what they are for. */
export async function handler(): Promise<void> {
  await Promise.all(
    Array.from({ length: SHARDS }, (_, shard) =>
      dynamo.send(
        new QueryCommand({
          TableName: process.env['DELIVERIES_TABLE'],
          IndexName: 'overdue',
          KeyConditionExpression: 'overduePk = :shard',
          ExpressionAttributeValues: { ':shard': String(shard) },
        }),
      ),
    ),
  );
}
