import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { SQSEvent } from 'aws-lambda';

const dynamo = DynamoDBDocumentClient.from(new DynamoDBClient());
const sqs = new SQSClient();

/** The calls of dispatch, and nothing of what they are for. */
export async function handler({ Records }: SQSEvent): Promise<void> {
  for (const { messageId, body } of Records) {
    const { Items = [] } = await dynamo.send(
      new QueryCommand({
        TableName: process.env['SUBSCRIPTIONS_TABLE'],
        KeyConditionExpression: 'pk = :queue',
        ExpressionAttributeValues: { ':queue': 'QUEUE#orders' },
      }),
    );
    await dynamo.send(
      new PutCommand({
        TableName: process.env['DELIVERIES_TABLE'],
        Item: { pk: `orders#${messageId}#0`, sk: 'MESSAGE', matched: Items.length },
        ConditionExpression: 'attribute_not_exists(pk)',
      }),
    );
    await sqs.send(
      new SendMessageBatchCommand({
        QueueUrl: process.env['DELIVERY_QUEUE_URL'],
        Entries: [{ Id: '0', MessageBody: body }],
      }),
    );
  }
}
