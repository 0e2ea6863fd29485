import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { pullByToken } from '../../cli/commands/forward/forward-deliveries.ts';
import { subscriptionItemKey } from '../../shared/adapters/dynamodb/subscriptions/subscription-item.ts';
import { kmsSecretSealer } from '../../shared/adapters/kms/signing-secrets.ts';
import { authSchema } from '../../shared/domain/subscription/auth.ts';
import { makeSecret } from '../../shared/domain/subscription/signing-secret.ts';
import { undeliverableNoticeSchema } from '../../shared/wire/jobs/redrive.ts';
import {
  answerOf,
  deliveriesOf,
  finishedDeliveries,
  finishedDelivery,
  retryEnded,
} from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { sendAll, taken } from '../support/sqs-messages.ts';
import {
  asRead,
  parseSituation,
  type Situation,
  situationOf,
  type StoredBy,
  type StoredItem,
} from '../support/stored-items.ts';

const HOUR_MS = 60 * 60 * 1000;

const { endpoints, client } = deployment;
const receiver = await receiverOfTests();
const deliver = new GetFunctionConfigurationCommand({ FunctionName: endpoints.functions.deliver });
const { Environment } = await deployment.lambda.send(deliver);
const { SECRETS_KEY_ARN = '', PAYLOAD_BUCKET = '' } = Environment?.Variables ?? {};
const sealer = kmsSecretSealer(deployment.keys, SECRETS_KEY_ARN);

/** Moves all times. `PORT` becomes that of the receiver. */
function shifted(text: string, shiftMs: number): string {
  return text
    .replaceAll('PORT', new URL(receiver.url('/')).port)
    .replaceAll(/\b1[78]\d{11}\b/g, (milliseconds) => String(Number(milliseconds) + shiftMs))
    .replaceAll(/\b1[78]\d{8}\b/g, (seconds) => String(Number(seconds) + shiftMs / 1000))
    .replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (time) =>
      new Date(Date.parse(time) + shiftMs).toISOString(),
    )
    .replaceAll(/\b(\d{4}-\d\d-\d\dT\d\d)#/g, (_, hour: string) =>
      new Date(Date.parse(`${hour}:00Z`) + shiftMs).toISOString().slice(0, 13).concat('#'),
    );
}

type Restored = Situation & { queue: string };

/**
 * By how much times are moved, in milliseconds: by default records become one to two hours old, so that every retry is due
 * and every lease has expired. Whole hours, because an index is keyed by the hour.
 */
function hoursOld(recordedAt: number): number {
  return Math.floor((Date.now() - recordedAt) / HOUR_MS - 1) * HOUR_MS;
}

/** As if they had just been recorded, for what depends on how long ago something began. */
function asRecorded(recordedAt: number): number {
  return Date.now() - recordedAt;
}

/** Writes the items of one situation to the tables. */
async function restored(
  version: StoredBy,
  situation: string,
  shiftOf: (recordedAt: number) => number = hoursOld,
): Promise<Restored> {
  const source = situationOf(version, situation);
  const moved = parseSituation(shifted(JSON.stringify(source), shiftOf(source.recordedAt)));
  const subscriptions = await Promise.all(moved.items.subscriptions.map(withNewSecrets));
  const deliveries = moved.items.deliveries.map(asRead);
  const items = [
    ...subscriptions.map((Item) => ({ TableName: endpoints.subscriptionsTable, Item })),
    ...deliveries.map((Item) => ({ TableName: endpoints.deliveriesTable, Item })),
  ];
  await Promise.all(items.map((item) => deployment.dynamo.send(new PutCommand(item))));
  const { name } = z.object({ name: z.string() }).parse(subscriptions[0]);
  return { ...moved, items: { subscriptions, deliveries }, queue: name };
}

/** Seals new secrets, and for `auth` those that its tests expect. */
async function withNewSecrets(item: StoredItem): Promise<StoredItem> {
  const { queue, id, secrets, auth } = sealedSchema.parse(item);
  const owner = { queue, subscriptionId: id };
  return {
    ...item,
    ...(secrets && {
      secrets: await Promise.all(
        secrets.map(async (secret) => ({
          ...secret,
          sealed: await sealer.seal(owner, makeSecret('v1', randomBytes)),
        })),
      ),
    }),
    ...(auth?.shown.type === 'basic' && {
      auth: { ...auth, sealed: await sealer.sealAuth(owner, { ...auth.shown, password: 'made-up' }) },
    }),
  };
}

const sealedSchema = z.object({
  queue: z.string().default(''),
  id: z.string().default(''),
  secrets: z.array(z.looseObject({ sealed: z.string() })).optional(),
  auth: z.looseObject({ shown: authSchema }).optional(),
});

const subscriptionPage = z.object({
  subscriptions: z.array(
    z.looseObject({
      id: z.string(),
      age: z.number(),
      ttl: z.number().nullable(),
      disabled: z.object({ reason: z.string() }).optional(),
    }),
  ),
});

/** A view without the age of its subscriptions, which is that of the request. */
function withoutAge(view: unknown): object {
  const page = subscriptionPage.safeParse(view).data;
  return page === undefined
    ? z.looseObject({}).parse(view)
    : page.subscriptions.map((subscription) => ({ ...subscription, age: undefined }));
}

async function statusesOf(queue: string, messageId: string, count: number): Promise<string[]> {
  const deliveries = await finishedDeliveries(queue, messageId, count);
  return deliveries.map(({ status }) => status);
}

function dataIn(body: Buffer): string {
  return JSON.stringify(z.object({ data: z.unknown() }).parse(JSON.parse(body.toString())).data);
}

/** What a version left on one SQS queue, and how its deliveries end, by message. */
type Finished = [
  does: string,
  situation: string,
  left: keyof typeof queueUrls,
  ends: Record<string, string[]>,
  requests: number,
  shiftOf?: typeof asRecorded,
];

const queueUrls = {
  ingress: endpoints.ingressQueueUrl,
  delivery: endpoints.deliveryQueueUrl,
  retry: endpoints.retryQueueUrl,
  operation: endpoints.operationQueueUrl,
};

const DONE = ['delivered'];
const WAITED = { m1: DONE, m2: DONE, m3: DONE };

async function finishes(version: StoredBy, [, situation, left, ends, requests, shiftOf]: Finished) {
  const { queue, ...there } = await restored(version, situation, shiftOf);
  await sendAll(queueUrls[left], there[left]);
  for (const [id, statuses] of Object.entries(ends))
    expect(await statusesOf(queue, id, statuses.length)).toEqual(statuses);
  expect(receiver.received().filter(({ path }) => path.startsWith(`/${queue}/`))).toHaveLength(requests);
}

describe.concurrent.each(['0.1.0', '556ba158', '12df063c'] as const)(
  'after an upgrade from version %s, the deployed system',
  (version) => {
    it.each<Finished>([
      ['makes attempt 2 from a wake-up of EventBridge Scheduler', 'scheduled-retry', 'retry', { m: DONE }, 1],
      ['makes what waits for a rate limit', 'rate-limited', 'retry', { m2: DONE, m3: DONE }, 2],
      [
        'cancels what is left of a deleted subscription',
        'cancellation',
        'operation',
        { m: ['cancelled'] },
        0,
      ],
    ])('%s', async (...row) => finishes(version, row));

    it('makes attempt 2 from a wake-up in SQS', async () => {
      const { queue, retry } = await restored(version, 'sqs-retry');
      await sendAll(endpoints.retryQueueUrl, retry);
      const [delivery] = await finishedDeliveries(queue, 'm', 1);
      expect(delivery?.attempts.map(({ number, statusCode }) => [number, statusCode])).toEqual([
        [1, 503],
        [2, 200],
      ]);
      expect(receiver.received(`/${queue}/0`)).toHaveLength(1);
    });

    it('shows of finished deliveries and subscriptions in every state all that it did before', async () => {
      const { views } = await restored(version, 'finished');
      for (const [path, view] of Object.entries(views))
        expect(withoutAge(await answerOf('GET', path)), path).toMatchObject(withoutAge(view));
    });
  },
);

describe.concurrent.each(['556ba158', '12df063c'] as const)(
  'after an upgrade from version %s, the deployed system also',
  (version) => {
    it('makes attempt 2 again whose function crashed', async () => {
      const { queue, retry } = await restored(version, 'crashed-retry');
      await sendAll(endpoints.retryQueueUrl, retry);
      expect(await finishedDelivery(queue, 'm')).toMatchObject({
        status: 'delivered',
        attempts: [
          { statusCode: 503, snippet: 'busy' },
          { statusCode: 200, lost: 1 },
        ],
      });
    });

    it.each<Finished>([
      ['makes what waited while its subscriber was down', 'held', 'retry', WAITED, 3, asRecorded],
      ['makes what waited while its subscriber was slowed', 'slowed', 'retry', WAITED, 3, asRecorded],
      [
        'moves up a delivery after its rate limit was raised',
        'moving-up',
        'operation',
        { m2: DONE },
        1,
        asRecorded,
      ],
    ])('%s', async (...row) => finishes(version, row));

    it('gives a subscriber by pull what waits for it, and takes its answers', async () => {
      const { queue, pull } = await restored(version, 'pull');
      if (pull === undefined) throw new Error('nothing recorded');
      const bySubscriber = (step: string, token: string, body: object) =>
        fetch(`${endpoints.apiUrl}/v2/pull/${queue}/${pull.id}/${step}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
          body: JSON.stringify(body),
        });
      const ack = async (receipt: string | undefined) =>
        (await bySubscriber('ack', pull.token, { receipt })).status;
      expect(await ack(pull.receipts['received'])).toBe(204);
      // Version 556ba158 did not record which lease had lapsed.
      expect(await ack(pull.receipts['lapsed'])).toBe(version === '556ba158' ? 409 : 204);
      const { deliveries: received } = pullByToken.receive.schema.parse(
        await (await bySubscriber('receive', pull.old, {})).json(),
      );
      expect(received.map(({ messageId, attempt }) => [messageId, attempt])).toEqual([
        ...(version === '556ba158' ? [['lapsed', 2]] : []),
        ['waiting', 1],
        ['nacked', 3],
      ]);
      for (const { receipt, headers } of received) {
        expect(headers['x-shop']).toBe('seven');
        expect(await ack(receipt)).toBe(204);
      }
      for (const id of ['acked', 'nacked', 'lapsed', 'received', 'waiting'])
        expect(await statusesOf(queue, id, 1)).toEqual(['delivered']);
    });

    it('shows a recovery in the middle of its work, and changes one field of a subscription', async () => {
      const { queue, views, items } = await restored(version, 'every-subscription');
      const recoveries = `/v2/queues/${queue}/recoveries`;
      expect(await answerOf('GET', recoveries)).toEqual(views[recoveries]);
      // Every kind is read and written again in test/unit/adapters/stored-by-earlier-versions.test.ts.
      for (const id of ['held', 'notified']) {
        await answerOf('PATCH', `/v2/queues/${queue}/subscriptions/${id}`, { name: 'Renamed' });
        const Key = subscriptionItemKey(queue, id);
        const { Item } = await deployment.dynamo.send(
          new GetCommand({ TableName: endpoints.subscriptionsTable, Key }),
        );
        const stored = items.subscriptions.find((item) => item['id'] === id);
        // Each write has a mark.
        expect(Item).toEqual({ ...stored, name: 'Renamed', w: expect.any(String) as unknown });
      }
    });
  },
);

// Version 12df063c stores these as 556ba158 does.
describe.concurrent.each(['0.1.0', '556ba158'] as const)(
  'after an upgrade from version %s, the deployed system also',
  (version) => {
    it('makes a first attempt from a queued job, with its headers', async () => {
      const { queue, delivery } = await restored(version, 'first-job');
      await sendAll(endpoints.deliveryQueueUrl, delivery);
      expect(await statusesOf(queue, 'm', 1)).toEqual(['delivered']);
      const [request, ...more] = receiver.received(`/${queue}/0`);
      expect(request?.headers['x-shop']).toBe('seven');
      if (version !== '0.1.0') expect(request?.headers.authorization).toBe(`Basic ${btoa('shop:made-up')}`);
      expect(request?.body.toString()).toMatch(/\{"total":"?12345678901234567890"?\}/);
      expect(more).toEqual([]);
    });

    it.each<Finished>([
      [
        'delivers all three of a queued chunk',
        'chunk-job',
        'delivery',
        { m: [...DONE, ...DONE, ...DONE] },
        3,
      ],
      [
        'repeats the attempts of a chunk that crashed',
        'crashed-chunk',
        'delivery',
        { m: [...DONE, ...DONE] },
        2,
      ],
    ])('%s', async (...row) => finishes(version, row));

    it('reads a stored body from the bucket', async () => {
      const { queue, delivery } = await restored(version, 'stored-body');
      const { payloadKey } = z.object({ payloadKey: z.string() }).parse(JSON.parse(delivery[0] ?? ''));
      const data = 'x'.repeat(300_000);
      const message = { queue, id: 'm', type: 'order.created', timestamp: '2026-11-22T13:32:05.214Z', data };
      const Body = JSON.stringify({ v: 1, ...message });
      const s3 = new S3Client({ ...client, forcePathStyle: true });
      await s3.send(
        new PutObjectCommand({
          Bucket: PAYLOAD_BUCKET,
          Key: payloadKey,
          Body,
          ContentType: 'application/json',
        }),
      );
      await sendAll(endpoints.deliveryQueueUrl, delivery);
      expect(await statusesOf(queue, 'm', 1)).toEqual(['delivered']);
      expect(receiver.received(`/${queue}/0`)[0]?.body.toString()).toContain(data);
    });

    it('runs a recovery that had not started, which reopens the exhausted delivery', async () => {
      const { queue, operation, undeliverable } = await restored(version, 'recovery');
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
  },
);

describe.concurrent('after an upgrade from version 556ba158, the deployed system also', () => {
  const version = '556ba158';

  it.each<Finished>([
    [
      'sends to all whose dispatch stopped between pages',
      'unfinished-dispatch',
      'ingress',
      { m: [...DONE, ...DONE] },
      2,
    ],
  ])('%s', async (...row) => finishes(version, row));

  it('does the pending steps of ended deliveries', async () => {
    const { queue, delivery } = await restored(version, 'pending-steps');
    await sendAll(endpoints.deliveryQueueUrl, delivery);
    for (const reason of ['gone', 'retries_exhausted'])
      await taken(endpoints.undeliverableQueueUrl, ({ Body = '' }) => {
        const notice = undeliverableNoticeSchema.parse(JSON.parse(Body));
        return notice.queue === queue && notice.reason === reason;
      });
    const { subscriptions } = subscriptionPage.parse(
      await answerOf('GET', `/v2/queues/${queue}/subscriptions`),
    );
    expect(subscriptions.map(({ disabled }) => disabled?.reason).toSorted()).toEqual(['gone', undefined]);
    // Refused while a step is pending.
    const exhausted = (await deliveriesOf(queue, 'm'))?.find(({ status }) => status === 'exhausted');
    if (exhausted !== undefined) await retryEnded(exhausted);
    expect(await statusesOf(queue, 'm', 2)).toEqual(expect.arrayContaining(['delivered', 'rejected']));
  });

  it('delivers what the API had published', async () => {
    const { queue, ingress, delivery } = await restored(version, 'ingress');
    await sendAll(endpoints.ingressQueueUrl, ingress);
    await sendAll(endpoints.deliveryQueueUrl, delivery);
    const dataAt = async (path: string, count: number) =>
      (await receiver.waitFor(path, count)).map(({ body }) => dataIn(body)).toSorted();
    expect(await dataAt(`/${queue}/0`, 2)).toEqual(['{"a":1}', '{"b":2}']);
    // A test request goes to its subscription alone.
    expect(await dataAt(`/${queue}/1`, 3)).toEqual(['{"a":1}', '{"b":2}', '{"test":true}']);
  });
});
