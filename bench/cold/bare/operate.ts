import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import { handler as queryShards } from './query-shards.ts';

const dynamo = DynamoDBDocumentClient.from(new DynamoDBClient());

/** The calls of operate where a deleted queue is gone and has no deliveries, and nothing of what they are for. */
export const handler = async (): Promise<void> => {
  await dynamo.send(
    new GetCommand({
      TableName: process.env['SUBSCRIPTIONS_TABLE'],
      Key: { pk: 'QUEUE#orders', sk: 'META' },
      ConsistentRead: true,
    }),
  );
  await queryShards();
};
