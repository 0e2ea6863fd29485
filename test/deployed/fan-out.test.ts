import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { bucketsFor } from '../../shared/domain/delivery/fan-out.ts';
import {
  callApi,
  finishedDeliveries,
  finishedDelivery,
  putQueue,
  subscribe,
  subscribeAll,
} from '../support/api-client.ts';
import { deployment } from '../support/deployment.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish, sendTogether, taken } from '../support/sqs-messages.ts';

const receiver = await receiverOfTests();

const queueWith = async (subscribers: number): Promise<{ queue: string; paths: string[] }> => {
  const queue = `fan-out-${randomUUID()}`;
  await putQueue(queue);
  const paths = Array.from({ length: subscribers }, (_, index) => `/${queue}/${index}`);
  await subscribeAll(
    queue,
    paths.map((path) => receiver.url(path)),
  );
  return { queue, paths };
};

const idsAt = (path: string): unknown[] =>
  receiver.received(path).map(({ headers }) => headers['webhook-id']);

const requestsTo = (paths: readonly string[]): number[] => {
  const byPath = Map.groupBy(receiver.received(), ({ path }) => path);
  return paths.map((path) => byPath.get(path)?.length ?? 0);
};

describe('a message on the deployed system', () => {
  it('reaches each of 260 subscribers once, with deliveries in two buckets', async () => {
    expect(bucketsFor(260)).toBe(2);
    const { queue, paths } = await queueWith(260);
    await publish({ queue, id: 'm', data: { hello: 'all' } });
    const deliveries = await finishedDeliveries(queue, 'm', paths.length);

    expect(deliveries.every(({ status }) => status === 'delivered')).toBe(true);
    expect(requestsTo(paths)).toEqual(paths.map(() => 1));
  });

  it('causes one request per subscriber when it is published fifty times at once with one id', async () => {
    const { queue, paths } = await queueWith(3);
    await Promise.all(Array.from({ length: 50 }, () => publish({ queue, id: 'same', data: 1 })));
    await finishedDeliveries(queue, 'same', 3);
    // A later message shows that all fifty were processed.
    await publish({ queue, id: 'after', data: 1 });
    await finishedDeliveries(queue, 'after', 3);

    const counts = paths.map(
      (path) => receiver.received(path).filter(({ headers }) => headers['webhook-id'] === 'same').length,
    );
    expect(counts).toEqual([1, 1, 1]);
  });

  it('is delivered once although its batch contains an invalid message, which is dead-lettered with its reason', async () => {
    const { queue, paths } = await queueWith(1);
    const good = Array.from({ length: 9 }, (_, index) =>
      JSON.stringify({ queue, id: `good-${index}`, data: index }),
    );
    const invalid = `{"queue": "${queue}", "data": `;
    await sendTogether(deployment.endpoints.ingressQueueUrl, [
      ...good.slice(0, 5),
      invalid,
      ...good.slice(5),
    ]);
    await Promise.all(good.map((_, index) => finishedDelivery(queue, `good-${index}`)));

    expect(requestsTo(paths)).toEqual([9]);
    const deadLetter = await taken(deployment.endpoints.ingressDeadLetterUrl, ({ Body }) => Body === invalid);
    expect(deadLetter.MessageAttributes).toMatchObject({ reason: { StringValue: 'not_json' } });
  });

  it('reaches the subscriptions whose event types and filters it matches', async () => {
    const queue = `filters-${randomUUID()}`;
    await putQueue(queue);
    await subscribe(queue, receiver.url(`/${queue}/all`));
    await subscribe(queue, receiver.url(`/${queue}/types`), { event_types: ['order.paid'] });
    await subscribe(queue, receiver.url(`/${queue}/large`), {
      filter: { order: { total: [{ numeric: ['>', 100] }], test: [{ exists: false }] } },
    });
    await publish({ queue, id: 'large', type: 'order.created', data: { order: { total: 101 } } });
    await publish({ queue, id: 'small', type: 'order.paid', data: { order: { total: 99 } } });
    await publish({ queue, id: 'trial', data: [{ order: { total: 500, test: true } }] });
    await Promise.all([
      finishedDeliveries(queue, 'large', 2),
      finishedDeliveries(queue, 'small', 2),
      finishedDeliveries(queue, 'trial', 1),
    ]);

    expect(idsAt(`/${queue}/all`).toSorted()).toEqual(['large', 'small', 'trial']);
    expect(idsAt(`/${queue}/types`)).toEqual(['small']);
    expect(idsAt(`/${queue}/large`)).toEqual(['large']);
    const message = await callApi('GET', `/v2/queues/${queue}/messages/trial`);
    expect(await message.json()).toMatchObject({ matched: 1, filtered: 2 });
  });
});
