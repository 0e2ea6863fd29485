import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DecryptCommand, KMSClient } from '@aws-sdk/client-kms';
import { DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { SQSEvent } from 'aws-lambda';

const dynamo = DynamoDBDocumentClient.from(new DynamoDBClient());
const kms = new KMSClient();

/** The calls of deliver and its request, and nothing of what they are for. */
export async function handler({ Records }: SQSEvent): Promise<void> {
  for (const { messageId, body } of Records) {
    const TableName = process.env['DELIVERIES_TABLE'];
    const Key = { pk: `orders#${messageId}#0`, sk: 'DELIVERY#subscription-00000' };
    await Promise.all(['META', 'SUB#subscription-00000'].map(read));
    await dynamo.send(
      new PutCommand({ TableName, Item: Key, ConditionExpression: 'attribute_not_exists(pk)' }),
    );
    const CiphertextBlob = new Uint8Array(184);
    await kms.send(new DecryptCommand({ KeyId: process.env['SECRETS_KEY_ARN'], CiphertextBlob }));
    const { status } = await fetch(String(process.env['SUBSCRIBER_URL']), { method: 'POST', body });
    await dynamo.send(
      new UpdateCommand({
        TableName,
        Key,
        UpdateExpression: 'SET #status = :status',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: { ':status': status },
        ReturnValues: 'ALL_NEW',
      }),
    );
  }
}

function read(sk: string) {
  return dynamo.send(
    new GetCommand({ TableName: process.env['SUBSCRIPTIONS_TABLE'], Key: { pk: 'QUEUE#orders', sk } }),
  );
}
