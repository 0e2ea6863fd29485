import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';

const dynamo = DynamoDBDocumentClient.from(new DynamoDBClient());
const sqs = new SQSClient();

/** The calls of the API where a message is posted, and nothing of what they are for. */
export async function handler({ body }: { body: string }): Promise<{ statusCode: number }> {
  await dynamo.send(
    new GetCommand({
      TableName: process.env['SUBSCRIPTIONS_TABLE'],
      Key: { pk: 'QUEUE#orders', sk: 'META' },
    }),
  );
  await dynamo.send(
    new PutCommand({
      TableName: process.env['SUBSCRIPTIONS_TABLE'],
      Item: { pk: 'QUEUE#orders', sk: 'META' },
      ConditionExpression: 'attribute_not_exists(pk)',
    }),
  );
  await sqs.send(
    new SendMessageBatchCommand({
      QueueUrl: process.env['INGRESS_QUEUE_URL'],
      Entries: [{ Id: '0', MessageBody: body }],
    }),
  );
  return { statusCode: 201 };
}
