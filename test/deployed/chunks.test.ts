import { randomUUID } from 'node:crypto';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { chunkOfItem } from '../../shared/adapters/dynamodb/deliveries/chunks.ts';
import { chunkPrefix } from '../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import { primaryKey } from '../../shared/config/tables.ts';
import { isSuccess, type Chunk } from '../../shared/domain/delivery/chunk.ts';
import { booksViewSchema } from '../../shared/wire/views/books.ts';
import {
  answerOf,
  callApi,
  deliveryPath,
  finishedDeliveries,
  putQueue,
  subscribe,
} from '../support/api-client.ts';
import { aBarePolicy } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
import { eventually } from '../support/eventually.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish } from '../support/sqs-messages.ts';

const receiver = await receiverOfTests();

const itemSchema = z.looseObject({ sk: z.string() });

/** Reads the chunks of a message, and the subscription ids of its separate delivery records. */
const recordsOf = async (
  queue: string,
  messageId: string,
): Promise<{ chunks: Chunk[]; separate: string[] }> => {
  const { Items = [] } = await deployment.dynamo.send(
    new QueryCommand({
      TableName: deployment.endpoints.deliveriesTable,
      ConsistentRead: true,
      KeyConditionExpression: `${primaryKey.partition} = :partition`,
      ExpressionAttributeValues: { ':partition': `${queue}#${messageId}#0` },
    }),
  );
  const items = Items.map((item) => itemSchema.parse(item));
  return {
    chunks: items.filter(({ sk }) => sk.startsWith(chunkPrefix)).map(chunkOfItem),
    separate: items
      .filter(({ sk }) => sk.startsWith('DELIVERY#'))
      .map(({ sk }) => sk.slice('DELIVERY#'.length)),
  };
};

const successesIn = ([chunk]: readonly Chunk[]): string[] =>
  [...(chunk?.members ?? [])].flatMap(([id, state]) => (isSuccess(state) ? [id] : []));

/** Creates a queue with `count` subscribers and one retry after a second. */
const subscribed = async (count: number) => {
  const queue = `chunks-${randomUUID()}`;
  await putQueue(queue, aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 1, maximum_delay: 1 }));
  const paths = Array.from({ length: count }, (_, index) => `/${queue}/${index}`);
  const ids: string[] = [];
  for (const path of paths) ids.push(await subscribe(queue, receiver.url(path)));
  return { queue, paths, ids };
};

const callAction = async (queue: string, id: string, action: 'retry' | 'cancel'): Promise<number> => {
  const path = deliveryPath({ queue, messageId: 'm', subscriptionId: id });
  return (await callApi('POST', `${path}/${action}`)).status;
};

describe.concurrent('a fan-out of ten on the deployed system', () => {
  it('stores nine successes in one record and the failed delivery in another, and the API shows all ten', async () => {
    const { queue, paths, ids } = await subscribed(10);
    const [, failingPath = ''] = paths;
    const [, failingId = ''] = ids;
    receiver.script(failingPath, [{ status: 503 }, { status: 200 }]);
    const since = new Date(Date.now() - 60_000).toISOString();
    await publish({ queue, id: 'm', data: { hello: 'all' } });
    const deliveries = await finishedDeliveries(queue, 'm', 10);

    expect(deliveries.map(({ subscriptionId }) => subscriptionId)).toEqual(ids.toSorted());
    expect(deliveries.map(({ status }) => status)).toEqual(ids.map(() => 'delivered'));
    for (const { subscriptionId, attempts } of deliveries)
      expect(attempts.map(({ number, statusCode }) => [number, statusCode])).toEqual(
        subscriptionId === failingId
          ? [
              [1, 503],
              [2, 200],
            ]
          : [[1, 200]],
      );
    const { chunks, separate } = await recordsOf(queue, 'm');
    expect(separate).toEqual([failingId]);
    expect(chunks).toHaveLength(1);
    expect(successesIn(chunks).toSorted()).toEqual(ids.filter((id) => id !== failingId).toSorted());
    expect(paths.map((path) => receiver.received(path).length)).toEqual(
      paths.map((path) => (path === failingPath ? 2 : 1)),
    );

    expect(await answerOf('GET', `/v2/queues/${queue}/messages/m`)).toMatchObject({
      deliveries: { delivered: 10, pending: 0, retrying: 0 },
    });
    const { books, balances } = booksViewSchema.parse(
      await answerOf('GET', `/v2/queues/${queue}/books?since=${since}`),
    );
    expect(books).toMatchObject({ accepted: 1, matched: 10, delivered: 10, pending: 0 });
    expect(balances).toBe(true);

    for (const id of ids.slice(0, 2)) {
      expect(
        await answerOf('GET', `/v2/queues/${queue}/books?since=${since}&subscription=${id}`),
      ).toMatchObject({
        books: { accepted: 1, matched: 1, delivered: 1, unfinished: 0 },
        balances: true,
      });
      expect(
        await answerOf('GET', `/v2/queues/${queue}/subscriptions/${id}/deliveries?since=${since}`),
      ).toMatchObject({
        deliveries: [{ messageId: 'm', subscriptionId: id, attemptCount: id === failingId ? 2 : 1 }],
      });
    }
  });

  it('cancels a delivery before its job arrives, and another during its attempt', async () => {
    const { queue, paths, ids } = await subscribed(3);
    const [early = '', inProgress = '', other = ''] = ids;
    const cancelled = Promise.withResolvers<undefined>();
    receiver.script(paths[1] ?? '', async () => {
      await cancelled.promise;
      return { status: 503 };
    });
    await publish({ queue, id: 'm', data: 1, delay: 8 });
    await eventually('the record of the message', async () => {
      const response = await callApi('GET', `/v2/queues/${queue}/messages/m`);
      return response.ok ? true : undefined;
    });
    expect(await callAction(queue, early, 'cancel')).toBe(200);
    await receiver.waitFor(paths[1] ?? '', 1);
    expect(await callAction(queue, inProgress, 'cancel')).toBe(200);
    cancelled.resolve(undefined);
    const deliveries = await finishedDeliveries(queue, 'm', 3);

    const statusOf = (id: string) => deliveries.find(({ subscriptionId }) => subscriptionId === id)?.status;
    expect([early, inProgress, other].map(statusOf)).toEqual(['cancelled', 'cancelled', 'delivered']);
    const { chunks, separate } = await recordsOf(queue, 'm');
    expect(separate.toSorted()).toEqual([early, inProgress].toSorted());
    expect(chunks[0]?.excluded).toEqual(new Set([early]));
    expect(paths.map((path) => receiver.received(path).length)).toEqual([0, 1, 1]);
  });
});
