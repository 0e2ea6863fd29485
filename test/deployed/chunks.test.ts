import { randomUUID } from 'node:crypto';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { chunkOfItem } from '../../shared/adapters/dynamodb/deliveries/chunks.ts';
import { chunkPrefix } from '../../shared/adapters/dynamodb/deliveries/delivery-keys.ts';
import { primaryKey } from '../../shared/config/tables.ts';
import { isSuccess, type Chunk } from '../../shared/domain/delivery/chunk.ts';
import { booksViewSchema } from '../../shared/wire/views/books.ts';
import { answerOf, finishedDeliveries, putQueue, subscribe } from '../support/api-client.ts';
import { aBarePolicy } from '../support/builders.ts';
import { deployment } from '../support/deployment.ts';
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

describe('a fan-out of ten on the deployed system', () => {
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
  });
});
