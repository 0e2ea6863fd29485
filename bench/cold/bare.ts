import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DecryptCommand, KMSClient } from '@aws-sdk/client-kms';
import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import {
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import type { SQSEvent } from 'aws-lambda';

/** The AWS calls of each function for its event (cold.ts), without any work around them. A bundle has one function. */

const dynamo = /* @__PURE__ */ DynamoDBDocumentClient.from(/* @__PURE__ */ new DynamoDBClient());
const sqs = /* @__PURE__ */ new SQSClient();
const kms = /* @__PURE__ */ new KMSClient();

const absent = 'attribute_not_exists(pk)';

export async function dispatch({ Records }: SQSEvent): Promise<void> {
  for (const { messageId, body } of Records) {
    const { Items = [] } = await listSubscriptions();
    const Item = { pk: `orders#${messageId}#0`, sk: 'MESSAGE', matched: Items.length };
    await put('DELIVERIES_TABLE', Item);
    await send('DELIVERY_QUEUE_URL', body);
    await count('messages');
  }
}

export async function deliver({ Records }: SQSEvent): Promise<void> {
  for (const { messageId, body } of Records) {
    const Key = { pk: `orders#${messageId}#0`, sk: 'DELIVERY#subscription-00000' };
    await Promise.all(['META', 'SUB#subscription-00000'].map((sk) => get(sk)));
    await put('DELIVERIES_TABLE', Key);
    const CiphertextBlob = new Uint8Array(184);
    await kms.send(new DecryptCommand({ KeyId: process.env['SECRETS_KEY_ARN'], CiphertextBlob }));
    const { status } = await fetch(String(process.env['SUBSCRIBER_URL']), { method: 'POST', body });
    await dynamo.send(
      new UpdateCommand({
        TableName: process.env['DELIVERIES_TABLE'],
        Key,
        UpdateExpression: 'SET #status = :status',
        ExpressionAttributeNames: { '#status': 'status' },
        ExpressionAttributeValues: { ':status': status },
        ReturnValues: 'ALL_NEW',
      }),
    );
    await count('attempts');
  }
}

/** Shards of the indexes of deliveries (shared/adapters/dynamodb/deliveries/delivery-keys.ts). */
const SHARDS = 8;

/** No delivery is overdue, and no subscription fetches. */
export async function reconcile(): Promise<void> {
  await lookForOverdue();
  await dynamo.send(
    new QueryCommand({
      TableName: process.env['SUBSCRIPTIONS_TABLE'],
      IndexName: 'queues',
      KeyConditionExpression: 'listing = :pull',
      ExpressionAttributeValues: { ':pull': 'PULL' },
    }),
  );
}

async function lookForOverdue(): Promise<void> {
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

/** The deleted queue is gone, was not restored, and has no deliveries. */
export async function operate(): Promise<void> {
  await get('META', true);
  await get('META');
  await lookForOverdue();
}

/** A message is posted: the answer names a queue without subscriptions. */
export async function api({ body }: { body: string }): Promise<{ statusCode: number }> {
  await get('META');
  await listSubscriptions();
  await send('INGRESS_QUEUE_URL', body);
  return { statusCode: 201 };
}

/** Credentials are exported: the queue and its subscriptions, which have none. */
export async function secrets(): Promise<{ statusCode: number }> {
  await get('META');
  await listSubscriptions();
  return { statusCode: 200 };
}

function listSubscriptions() {
  return dynamo.send(
    new QueryCommand({
      TableName: process.env['SUBSCRIPTIONS_TABLE'],
      KeyConditionExpression: 'pk = :queue',
      ExpressionAttributeValues: { ':queue': 'QUEUE#orders' },
    }),
  );
}

function get(sk: string, ConsistentRead = false) {
  const Key = { pk: 'QUEUE#orders', sk };
  return dynamo.send(new GetCommand({ TableName: process.env['SUBSCRIPTIONS_TABLE'], Key, ConsistentRead }));
}

function put(table: string, Item: Record<string, unknown>) {
  return dynamo.send(new PutCommand({ TableName: process.env[table], Item, ConditionExpression: absent }));
}

/** Counts in the statistics of the queue. */
function count(name: string) {
  return dynamo.send(
    new UpdateCommand({
      TableName: process.env['DELIVERIES_TABLE'],
      Key: { pk: 'orders#statistics', sk: '0' },
      UpdateExpression: 'ADD #name :one',
      ExpressionAttributeNames: { '#name': name },
      ExpressionAttributeValues: { ':one': 1 },
    }),
  );
}

function send(queue: string, MessageBody: string) {
  const Entries = [{ Id: '0', MessageBody }];
  return sqs.send(new SendMessageBatchCommand({ QueueUrl: process.env[queue], Entries }));
}
