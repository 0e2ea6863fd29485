import { readFileSync } from 'node:fs';
import { DynamoDBClient, PutItemCommand, type AttributeValue } from '@aws-sdk/client-dynamodb';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { kmsSecretSealer } from '../../shared/adapters/kms/signing-secrets.ts';
import { makeSecret } from '../../shared/domain/subscription/signing-secret.ts';
import { undeliverableNoticeSchema } from '../../shared/wire/jobs/undeliverable-notice.ts';
import { callApi, deliveriesOf, finishedDeliveries } from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { send } from '../support/sqs-messages.ts';

/**
 * Items and messages that version 0.1.0 stored, one queue for each situation. They were recorded on the local AWS by
 * stopping the functions at the right moment. The sealed secrets are missing because their KMS key no longer exists.
 */
const situationSchema = z.object({
  recordedAt: z.number(),
  items: z.object({ subscriptions: z.array(itemSchema()), deliveries: z.array(itemSchema()) }),
  delivery: z.array(z.string()).default([]),
  retry: z.array(z.string()).default([]),
  operation: z.array(z.string()).default([]),
  undeliverable: z.array(z.string()).default([]),
  views: z.record(z.string(), z.unknown()).optional(),
});

const recorded = z
  .record(z.string(), situationSchema)
  .parse(JSON.parse(readFileSync(new URL('stored-by-0.1.0.json', import.meta.url), 'utf8')));

type Recorded = z.infer<typeof situationSchema>;

function itemSchema() {
  return z.custom<Record<string, AttributeValue>>((item) => typeof item === 'object' && item !== null);
}

const HOUR_MS = 60 * 60 * 1000;

const { endpoints, client } = deployment;
const dynamo = new DynamoDBClient(client);

let receiver: Receiver;
let environment: Record<string, string>;

beforeAll(async () => {
  receiver = await startReceiver();
  const configuration = await deployment.lambda.send(
    new GetFunctionConfigurationCommand({ FunctionName: endpoints.functions.deliver }),
  );
  environment = configuration.Environment?.Variables ?? {};
});

afterAll(async () => {
  await receiver.close();
});

/**
 * Moves all times by whole hours, because an index is keyed by the hour. The records become one to two hours old, so
 * that every retry is due and every lease has expired.
 */
function shifted(text: string, recordedAt: number): string {
  const shiftMs = Math.floor((Date.now() - recordedAt) / HOUR_MS - 1) * HOUR_MS;
  return text
    .replaceAll('PORT', new URL(receiver.url('/')).port)
    .replaceAll(/\b17\d{11}\b/g, (milliseconds) => String(Number(milliseconds) + shiftMs))
    .replaceAll(/\b17\d{8}\b/g, (seconds) => String(Number(seconds) + shiftMs / 1000))
    .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (time) =>
      new Date(Date.parse(time) + shiftMs).toISOString(),
    )
    .replaceAll(/\b(\d{4}-\d\d-\d\dT\d\d)#/g, (_, hour: string) =>
      new Date(Date.parse(`${hour}:00Z`) + shiftMs).toISOString().slice(0, 13).concat('#'),
    );
}

/** Writes the items of one situation to the tables. */
async function restored(situation: string): Promise<Recorded & { queue: string }> {
  const source = recorded[situation];
  if (source === undefined) throw new Error(`nothing recorded for ${situation}`);
  const moved = situationSchema.parse(JSON.parse(shifted(JSON.stringify(source), source.recordedAt)));
  await Promise.all([
    ...moved.items.subscriptions.map(async (item) =>
      dynamo.send(
        new PutItemCommand({ TableName: endpoints.subscriptionsTable, Item: await withNewSecrets(item) }),
      ),
    ),
    ...moved.items.deliveries.map((Item) =>
      dynamo.send(new PutItemCommand({ TableName: endpoints.deliveriesTable, Item })),
    ),
  ]);
  return { ...moved, queue: `stored-${situation}` };
}

async function withNewSecrets(item: Record<string, AttributeValue>): Promise<Record<string, AttributeValue>> {
  const owner = { queue: item['queue']?.S ?? '', subscriptionId: item['id']?.S ?? '' };
  const secrets = await Promise.all(
    (item['secrets']?.L ?? []).map(async (secret) => {
      const sealer = kmsSecretSealer(deployment.keys, environment['SECRETS_KEY_ARN'] ?? '');
      const sealed = await sealer.seal(owner, makeSecret('v1', randomBytes));
      return { M: { ...secret.M, sealed: { S: sealed } } };
    }),
  );
  return secrets.length === 0 ? item : { ...item, secrets: { L: secrets } };
}

async function sendAll(queueUrl: string, bodies: readonly string[]): Promise<void> {
  for (const body of bodies) await send(queueUrl, body);
}

async function statusesOf(queue: string, messageId: string, count: number): Promise<string[]> {
  const deliveries = await finishedDeliveries(queue, messageId, count);
  return deliveries.map(({ status }) => status);
}

async function answerOf(path: string): Promise<unknown> {
  const response = await callApi('GET', path);
  if (!response.ok) throw new Error(`GET ${path}: ${response.status}`);
  return response.json();
}

describe.concurrent('after an upgrade from version 0.1.0, the deployed system', () => {
  it('makes a first attempt from a queued job, with its headers', async () => {
    const { queue, delivery } = await restored('first-job');
    await sendAll(endpoints.deliveryQueueUrl, delivery);
    expect(await statusesOf(queue, 'm', 1)).toEqual(['delivered']);
    const [request, ...more] = receiver.received(`/${queue}/0`);
    expect(request?.headers['x-shop']).toBe('seven');
    expect(request?.body.toString()).toContain('{"total":"12345678901234567890"}');
    expect(more).toEqual([]);
  });

  it('delivers all three deliveries of a queued chunk', async () => {
    const { queue, delivery } = await restored('chunk-job');
    await sendAll(endpoints.deliveryQueueUrl, delivery);
    expect(await statusesOf(queue, 'm', 3)).toEqual(['delivered', 'delivered', 'delivered']);
    expect(receiver.received().filter(({ path }) => path.startsWith(`/${queue}/`))).toHaveLength(3);
  });

  it('reads a stored body from the bucket', async () => {
    const { queue, delivery } = await restored('stored-body');
    const { payloadKey } = z.object({ payloadKey: z.string() }).parse(JSON.parse(delivery[0] ?? ''));
    const data = 'x'.repeat(300_000);
    const message = {
      v: 1,
      queue,
      id: 'm',
      type: 'order.created',
      timestamp: '2026-11-22T13:32:05.214Z',
      data,
    };
    const s3 = new S3Client({ ...client, forcePathStyle: true });
    await s3.send(
      new PutObjectCommand({
        Bucket: environment['PAYLOAD_BUCKET'] ?? '',
        Key: payloadKey,
        Body: JSON.stringify(message),
        ContentType: 'application/json',
      }),
    );
    await sendAll(endpoints.deliveryQueueUrl, delivery);
    expect(await statusesOf(queue, 'm', 1)).toEqual(['delivered']);
    expect(receiver.received(`/${queue}/0`)[0]?.body.toString()).toContain(data);
  });

  it('repeats the attempts of a chunk whose function crashed', async () => {
    const { queue, delivery } = await restored('crashed-chunk');
    await sendAll(endpoints.deliveryQueueUrl, delivery);
    expect(await statusesOf(queue, 'm', 2)).toEqual(['delivered', 'delivered']);
  });

  it('makes attempt 2 from a wake-up in SQS', async () => {
    const { queue, retry } = await restored('sqs-retry');
    await sendAll(endpoints.retryQueueUrl, retry);
    const [delivery] = await finishedDeliveries(queue, 'm', 1);
    expect(delivery?.attempts.map(({ number, statusCode }) => [number, statusCode])).toEqual([
      [1, 503],
      [2, 200],
    ]);
    expect(receiver.received(`/${queue}/0`)).toHaveLength(1);
  });

  it('makes attempt 2 from a wake-up of EventBridge Scheduler', async () => {
    const { queue, retry } = await restored('scheduled-retry');
    await sendAll(endpoints.retryQueueUrl, retry);
    expect(await statusesOf(queue, 'm', 1)).toEqual(['delivered']);
    expect(receiver.received(`/${queue}/0`)).toHaveLength(1);
  });

  it('makes the deliveries that wait for a rate limit', async () => {
    const { queue, retry } = await restored('rate-limited');
    await sendAll(endpoints.retryQueueUrl, retry);
    expect(await statusesOf(queue, 'm2', 1)).toEqual(['delivered']);
    expect(await statusesOf(queue, 'm3', 1)).toEqual(['delivered']);
    expect(receiver.received(`/${queue}/0`)).toHaveLength(2);
  });

  it('runs a recovery that had not started, which reopens the exhausted delivery', async () => {
    const { queue, operation, undeliverable } = await restored('recovery');
    const [notice] = undeliverable.map((body) => undeliverableNoticeSchema.parse(JSON.parse(body)));
    expect(notice).toMatchObject({ queue, messageId: 'm', status: 'exhausted' });
    await sendAll(endpoints.operationQueueUrl, operation);
    const delivered = await eventually('a second round', async () => {
      const [delivery] = (await deliveriesOf(queue, 'm')) ?? [];
      return delivery?.status === 'delivered' ? delivery : undefined;
    });
    expect(delivered.attempts.map(({ round, statusCode }) => [round, statusCode])).toEqual([
      [1, 500],
      [1, 500],
      [2, 200],
    ]);
  });

  it('cancels the remaining deliveries of a deleted subscription', async () => {
    const { queue, operation } = await restored('cancellation');
    await sendAll(endpoints.operationQueueUrl, operation);
    expect(await statusesOf(queue, 'm', 1)).toEqual(['cancelled']);
    expect(receiver.received(`/${queue}/0`)).toEqual([]);
  });

  it('shows finished deliveries and subscriptions in every state as before', async () => {
    const { queue, views } = await restored('finished');
    expect(await deliveriesOf(queue, 'm')).toEqual(views?.['deliveries']);
    expect(await answerOf(`/v2/queues/${queue}/messages/m`)).toEqual(views?.['message']);
    const page = z.object({ subscriptions: z.array(z.looseObject({ age: z.number() })) });
    const withoutAge = (view: unknown) =>
      page.parse(view).subscriptions.map((subscription) => ({ ...subscription, age: undefined }));
    expect(withoutAge(await answerOf(`/v2/queues/${queue}/subscriptions`))).toEqual(
      withoutAge(views?.['subscriptions']),
    );
  });
});
