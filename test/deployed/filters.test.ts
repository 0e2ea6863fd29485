import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deliveryViewSchema } from '../../shared/wire/views/delivery.ts';
import { callApi, finishedDeliveries, putQueue, subscribe } from '../support/api-client.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { publish } from '../support/sqs-messages.ts';

let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver();
});

afterAll(async () => {
  await receiver.close();
});

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
