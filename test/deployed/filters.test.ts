import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deliveryViewSchema } from '../../shared/wire/views/delivery.ts';
import { callApi, finishedDeliveries, putQueue, subscribe } from '../support/api-client.ts';
import { explanationSchema } from '../../functions/api/messages/explain.ts';
import { receiverOfTests } from '../support/receiver-of-tests.ts';
import { publish } from '../support/sqs-messages.ts';

const receiver = await receiverOfTests();

const idsAt = (path: string): unknown[] =>
  receiver.received(path).map(({ headers }) => headers['webhook-id']);

describe('subscriptions of one queue', () => {
  it('get the messages that match their event types and filters', async () => {
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

  it('are explained by the filter, and get the message by hand where the queue keeps its body', async () => {
    const queue = `sent-${randomUUID()}`;
    const message = `/v2/queues/${queue}/messages/small`;
    expect((await callApi('PUT', `/v2/queues/${queue}`, { _retain_messages: 'all' })).status).toBe(201);
    const all = await subscribe(queue, receiver.url(`/${queue}/all`));
    const large = await subscribe(queue, receiver.url(`/${queue}/large`), {
      filter: { order: { total: [{ numeric: ['>', 100] }] } },
    });
    await publish({ queue, id: 'small', data: { order: { total: 99 } } });
    await finishedDeliveries(queue, 'small', 1);

    const { subscriptions } = explanationSchema.parse(
      await (await callApi('GET', `${message}/explain`)).json(),
    );
    expect(Object.fromEntries(subscriptions.map((one) => [one.subscriptionId, one]))).toMatchObject({
      [all]: { verdict: 'delivered', certain: true },
      [large]: { verdict: 'filtered', certain: true, rule: { by: 'filter', path: 'order.total' } },
    });

    for (const id of [all, large])
      expect((await callApi('POST', `${message}/deliveries/${id}/send`)).status).toBe(202);
    await receiver.waitFor(`/${queue}/all`, 2);
    await finishedDeliveries(queue, 'small', 2);
    expect(idsAt(`/${queue}/large`)).toEqual(['small']);
    const books = await callApi('GET', `/v2/queues/${queue}/books`);
    expect(await books.json()).toMatchObject({
      books: { matched: 2, filtered: 1, delivered: 2 },
      balances: true,
    });
  });
});

describe('a test of a subscription', () => {
  const test = async (queue: string, id: string, body?: unknown) => {
    const response = await callApi('POST', `/v2/queues/${queue}/subscriptions/${id}/test`, body);
    const answer: unknown = await response.json();
    expect(response.status, JSON.stringify(answer)).toBe(200);
    return z.object({ delivery: deliveryViewSchema }).parse(answer).delivery;
  };

  it('reaches only that subscription, ignores its filter, and returns the response', async () => {
    const queue = `tested-${randomUUID()}`;
    const path = `/${queue}/tested`;
    await putQueue(queue);
    await subscribe(queue, receiver.url(`/${queue}/other`));
    const id = await subscribe(queue, receiver.url(path), { filter: { never: [true] } });
    const delivered = await test(queue, id, { type: 'order.created', data: { total: 5 } });
    receiver.script(path, [{ status: 400, body: 'no such order' }]);
    const rejected = await test(queue, id);

    expect(delivered).toMatchObject({ status: 'delivered', attempts: [{ number: 1, statusCode: 200 }] });
    expect(rejected).toMatchObject({ status: 'rejected', attempts: [{ snippet: 'no such order' }] });
    const bodies = receiver.received(path).map(({ body }): unknown => JSON.parse(body.toString()));
    expect(bodies).toMatchObject([
      { id: delivered.messageId, queue, type: 'order.created', data: { total: 5 } },
      { id: rejected.messageId, queue, type: 'posthaste.test', data: { test: true } },
    ]);
    expect(receiver.received(`/${queue}/other`)).toEqual([]);
  });
});
