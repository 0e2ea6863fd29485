import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DecryptCommand, KMSClient } from '@aws-sdk/client-kms';
import { DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { SQSEvent } from 'aws-lambda';
import { variable } from './variable.ts';

const dynamo = DynamoDBDocumentClient.from(new DynamoDBClient());
const kms = new KMSClient();

/** The calls of deliver and its request, and nothing of what they are for. */
export const handler = async ({ Records }: SQSEvent): Promise<void> => {
  for (const { messageId, body } of Records) {
    const TableName = variable('DELIVERIES_TABLE');
    const Key = { pk: `orders#${messageId}#0`, sk: 'DELIVERY#subscription-1' };
    await Promise.all(['META', 'SUB#subscription-1'].map(read));
    await dynamo.send(
      new PutCommand({ TableName, Item: Key, ConditionExpression: 'attribute_not_exists(pk)' }),
    );
    const CiphertextBlob = new Uint8Array(184);
    await kms.send(new DecryptCommand({ KeyId: variable('SECRETS_KEY_ARN'), CiphertextBlob }));
    const { status } = await fetch(variable('SUBSCRIBER_URL'), { method: 'POST', body });
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
};

const read = (sk: string) =>
  dynamo.send(
    new GetCommand({ TableName: variable('SUBSCRIPTIONS_TABLE'), Key: { pk: 'QUEUE#orders', sk } }),
  );
