import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { bodyBytes, MAX_BODY_IN_JOB, MAX_BODY_ON_RECORD } from '../../shared/domain/message/body.ts';
import {
  finishedDeliveries,
  putQueue,
  subscribe,
  answerOf,
  finishedDelivery,
  retryEnded,
} from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { send, publish } from '../support/sqs-messages.ts';
import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { toMessageItemKey } from '../../shared/adapters/dynamodb/deliveries/message-records.ts';
import { NO_RETRIES } from '../support/builders.ts';
import { subscribedQueue } from '../support/subscribed-queue.ts';

/** The maximum size of an SQS message in bytes. */
const MAX_SQS_MESSAGE = 1024 * 1024;

const receiver = await receiverOfTests();
const queue = `sizes-${randomUUID()}`;

const ingressBody = (id: string, data: string): string => `{"queue":"${queue}","id":"${id}","data":${data}}`;

/** Incompressible JSON of this size, with up to 20 characters of two bytes each. */
const dataOf = (bytes: number): string => {
  if (bytes < 2) return '7'.repeat(bytes);
  const inside = bytes - 2;
  const wide = 'é'.repeat(Math.min(20, Math.floor(inside / 2)));
  const rest = inside - Buffer.byteLength(wide);
  return `"${wide}${randomBytes(rest).toString('base64').slice(0, rest)}"`;
};

/** Data for which the webhook body has this size in bytes. */
const dataForBody = (id: string, bytes: number): string => {
  const timestamp = '2026-01-01T00:00:00.000Z';
  return dataOf(bytes - bodyBytes({ queue, id, timestamp, data: '' }));
};

const dataForSqs = (id: string, bytes: number): string =>
  dataOf(bytes - Buffer.byteLength(ingressBody(id, '')));

const sizes = [
  { id: 'byte', data: dataOf(1) },
  { id: 'bytes-100', data: dataOf(100) },
  { id: 'on-the-record', data: dataForBody('on-the-record', MAX_BODY_ON_RECORD) },
  { id: 'beyond-the-record', data: dataForBody('beyond-the-record', MAX_BODY_ON_RECORD + 1) },
  { id: 'in-the-job', data: dataForBody('in-the-job', MAX_BODY_IN_JOB) },
  { id: 'beyond-the-job', data: dataForBody('beyond-the-job', MAX_BODY_IN_JOB + 1) },
  { id: 'kb-256', data: dataForBody('kb-256', 256 * 1024) },
  { id: 'all-that-sqs-takes', data: dataForSqs('all-that-sqs-takes', MAX_SQS_MESSAGE) },
].map(({ id, data }) => ({ id, data, bytes: Buffer.byteLength(data) }));

const hashOf = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** The bytes of `data` in a body that ends with it. */
const dataIn = (body: Buffer): Buffer => {
  const before = '"data":';
  return body.subarray(body.indexOf(before) + before.length, -1);
};

describe('data from the producer to the subscriber', () => {
  beforeAll(async () => {
    await putQueue(queue);
    const refused = new Set<unknown>();
    receiver.script('/refuses', ({ headers }) => {
      const isFirst = !refused.has(headers['webhook-id']);
      refused.add(headers['webhook-id']);
      return { status: isFirst ? 500 : 200 };
    });
    await subscribe(queue, receiver.url('/takes'));
    // With a delay, so that another invocation makes the second attempt from the stored message.
    const later = { retries_with_no_delay: 0, minimum_delay: 1 };
    await subscribe(queue, receiver.url('/refuses'), { _retry_policy: later });
    for (const { id, data } of sizes) await send(deployment.endpoints.ingressQueueUrl, ingressBody(id, data));
  });

  it.each(sizes)(
    'arrives unchanged at $bytes bytes, in the first attempt and in a retry from the stored message',
    async ({ id, data }) => {
      const deliveries = await finishedDeliveries(queue, id, 2);
      const sent = receiver.received().filter(({ headers }) => headers['webhook-id'] === id);

      expect(deliveries.map(({ status, attempts }) => `${status} ${attempts.length}`).toSorted()).toEqual([
        'delivered 1',
        'delivered 2',
      ]);
      expect(sent.map(({ path }) => path).toSorted()).toEqual(['/refuses', '/refuses', '/takes']);
      expect(sent.map(({ body }) => hashOf(dataIn(body)))).toEqual(Array(3).fill(hashOf(data)));
    },
  );
});

const hour = 60 * 60 * 1000;

const erase = (queue: string): Promise<unknown> => answerOf('DELETE', `/v2/queues/${queue}/messages/m/body`);

const shown = async (queue: string): Promise<unknown> =>
  z
    .looseObject({ body: z.unknown().optional() })
    .parse(await answerOf('GET', `/v2/queues/${queue}/messages/m`)).body;

/** Makes the record of the message expire in an hour, as if it had been stored long ago. */
const expireSoon = (queue: string): Promise<unknown> =>
  deployment.dynamo.send(
    new UpdateCommand({
      TableName: deployment.endpoints.deliveriesTable,
      Key: toMessageItemKey({ queue, messageId: 'm' }),
      UpdateExpression: 'SET expiresAt = :soon',
      ExpressionAttributeValues: { ':soon': Date.now() + hour },
    }),
  );

const bodiesAt = (path: string): unknown[] =>
  receiver
    .received(path)
    .map(({ body }) => z.object({ data: z.unknown() }).parse(JSON.parse(body.toString())).data);

describe('a message too large for its record', () => {
  const data = 'x'.repeat(20_000);

  it('is stored at its first failure, and can be shown, retried manually and recovered much later', async () => {
    const { queue, path, subscriptionId } = await subscribedQueue(receiver, {
      policy: NO_RETRIES,
      answers: [{ status: 503 }, { status: 503 }, { status: 200 }],
    });
    await publish({ queue, id: 'm', data });
    expect(await finishedDelivery(queue, 'm')).toMatchObject({ status: 'exhausted' });
    expect((await shown(queue)) === data).toBe(true);

    await expireSoon(queue);
    await retryEnded({ queue, messageId: 'm', subscriptionId });
    await receiver.waitFor(path, 2);
    expect(await finishedDelivery(queue, 'm')).toMatchObject({ status: 'exhausted' });

    await expireSoon(queue);
    const [since, until] = [new Date(Date.now() - hour), new Date()].map((time) => time.toISOString());
    await answerOf('POST', `/v2/queues/${queue}/recoveries`, { since, until });
    await receiver.waitFor(path, 3);

    expect(await finishedDelivery(queue, 'm')).toMatchObject({ status: 'delivered' });
    expect(bodiesAt(path).map((one) => one === data)).toEqual([true, true, true]);
  });

  it('is not stored when it is erased during its first attempt', async () => {
    const { queue, path } = await subscribedQueue(receiver, { policy: NO_RETRIES });
    receiver.script(path, async () => {
      await erase(queue);
      return { status: 503 };
    });
    await publish({ queue, id: 'm', data });
    expect(await finishedDelivery(queue, 'm')).toMatchObject({ status: 'exhausted' });
    expect(await shown(queue)).toBeUndefined();
  });

  it('is not stored again by a duplicate after it was erased', async () => {
    const { queue, path } = await subscribedQueue(receiver);
    const large = 'x'.repeat(100_000);
    await publish({ queue, id: 'm', data: large });
    await finishedDelivery(queue, 'm');
    await erase(queue);
    await publish({ queue, id: 'm', data: large });
    // A later message shows that the duplicate was processed.
    await publish({ queue, id: 'after', data: 1 });
    await finishedDelivery(queue, 'after');

    expect(await shown(queue)).toBeUndefined();
    expect(bodiesAt(path).map((one) => one === large)).toEqual([true, false]);
  });
});
