import { beforeEach, describe, expect, vi } from 'vitest';
import * as z from 'zod';
import { eraseBody } from '../../../functions/api/messages/messages.ts';
import { payloadKeyOf } from '../../../shared/domain/message/body.ts';
import { confirmationMessage } from '../../../shared/domain/message/confirmation-request.ts';
import { type Message, messageIdOf } from '../../../shared/domain/message/message.ts';
import { tokenHashOf } from '../../../shared/domain/subscription/confirmation.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { messageSummarySchema, messageViewSchema } from '../../../shared/wire/views/message.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import {
  type Api,
  apiUnderTest,
  apiWithOrders,
  CALLER,
  it,
  listing,
  NOON,
  pageOf,
  pagesFrom,
  recordAll,
  recordMessage,
  refusal,
} from './api-test.ts';

const PATH = '/v2/queues/orders/messages/order-7';
/** JSON that parsing would change: large numbers, key order, blanks, escapes, and a duplicate key. */
const DATA = '{"total": 12345678901234567890, "b":1.0,"a":  2, "a": "\\u00fc🐘"}';

const inline = aMessage({ id: 'order-7', data: DATA });

describe('GET /v2/queues/{queue}/messages/{id}', () => {
  it('shows a message with its delivery states, counted from the records', async ({ api }) => {
    await recordMessage(api, {
      messageId: 'order-7',
      type: 'order.created',
      matched: 5,
      filtered: 2,
      duplicates: 3,
      body: { kind: 'inline', message: inline },
    });
    await recordAll(api, [
      { messageId: 'order-7', status: 'delivered' },
      { messageId: 'order-7', status: 'delivered' },
      { messageId: 'order-7', status: 'retrying' },
      { messageId: 'order-7', status: 'cancelled' },
      { messageId: 'order-8', status: 'rejected' },
    ]);
    const { status, headers, body } = await api.call('GET', PATH);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json');
    expect(messageViewSchema.strict().parse(body)).toMatchObject({
      queue: 'orders',
      id: 'order-7',
      type: 'order.created',
      acceptedAt: new Date(NOON).toISOString(),
      duplicates: 3,
      matched: 5,
      filtered: 2,
      deliveries: { pending: 0, retrying: 1, delivered: 2, rejected: 0, exhausted: 0, cancelled: 1 },
      bodyKept: true,
    });
    expect(body).not.toHaveProperty('deliveriesAtLeast');
  });

  it('shows `unfinished` for a message that was not sent to all subscriptions yet', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', lastSubscriptionId: 's-5' });
    expect((await api.call('GET', PATH)).body).toMatchObject({ matched: 1, unfinished: true });
  });

  it('counts only the first 40 buckets of a message with many deliveries, and says so', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', matched: 4, buckets: 100, firstBucket: 7 });
    await recordAll(
      api,
      [7, 46, 47, 106].map((bucket) => ({ messageId: 'order-7', bucket })),
    );
    const { body } = await api.call('GET', PATH);
    expect(body).toMatchObject({ matched: 4, deliveries: { retrying: 2 }, deliveriesAtLeast: true });
  });

  it.for(['in the record', 'in the bucket'])('returns a body %s byte for byte', async (place, { api }) => {
    const payloadKey = payloadKeyOf(inline);
    await api.payloads.put(payloadKey, inline);
    await recordMessage(api, {
      messageId: 'order-7',
      body: place === 'in the record' ? { kind: 'inline', message: inline } : { kind: 'stored', payloadKey },
    });
    expect(await api.text('GET', PATH)).toContain(`"bodyKept":true,"body":${DATA}}`);
  });

  it.for([
    ['that was never stored', {}],
    [
      'that has expired in the bucket',
      { body: { kind: 'stored' as const, payloadKey: 'orders/order-7/gone' } },
    ],
  ] as const)('shows the absence of a body %s', async ([, kept], { api }) => {
    await recordMessage(api, { messageId: 'order-7', ...kept });
    const { body } = await api.call('GET', PATH);
    expect(body).toMatchObject({ bodyKept: false });
    expect(body).not.toHaveProperty('body');
    expect(body).not.toHaveProperty('erasedAt');
  });

  it('is 404 for a message that is unknown, not yet dispatched, or in another queue', async ({ api }) => {
    await api.call('POST', '/v2/queues/orders/messages', { messages: [{ id: 'order-8', body: 1 }] });
    await recordMessage(api, { messageId: 'order-7' });
    for (const path of ['orders/messages/order-8', 'orders/messages/none', 'bills/messages/order-7'])
      expect(await api.call('GET', `/v2/queues/${path}`)).toMatchObject(refusal('not_found'));
  });

  it("accepts the producer's message id", async ({ api }) => {
    const { id } = messageIdOf({ id: 'order 7 ü' });
    await recordMessage(api, { messageId: id });
    const answer = await api.call('GET', `/v2/queues/orders/messages/${encodeURIComponent('order 7 ü')}`);
    expect(answer).toMatchObject({ status: 200, body: { id } });
  });
});

describe('DELETE /v2/queues/{queue}/messages/{id}/body', () => {
  it.for(['in the record', 'in the bucket'])(
    'erases a body %s, and shows that from then on',
    async (place, { api }) => {
      const payloadKey = payloadKeyOf(inline);
      if (place === 'in the bucket') await api.payloads.put(payloadKey, inline);
      await recordMessage(api, {
        messageId: 'order-7',
        body:
          place === 'in the record' ? { kind: 'inline', message: inline } : { kind: 'stored', payloadKey },
      });
      expect(await api.call('DELETE', `${PATH}/body`)).toMatchObject({ status: 204, body: undefined });
      const text = await api.text('GET', PATH);
      expect(text).toContain(`"bodyKept":false,"erasedAt":"${new Date(NOON).toISOString()}"`);
      expect(text).not.toContain('12345678901234567890');
      expect(api.payloads.stored.size).toBe(0);
      api.time.now += 1000;
      expect(await api.call('DELETE', `${PATH}/body`)).toMatchObject({ status: 204 });
      expect(await api.text('GET', PATH)).toBe(text);
    },
  );

  it('is on the audit trail with ids only', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', body: { kind: 'inline', message: inline } });
    await api.call('DELETE', `${PATH}/body`);
    expect(api.changes).toEqual([
      { ...CALLER, change: 'body_erased', queue: 'orders', messageId: 'order-7' },
    ]);
  });
});

const LIST = '/v2/queues/orders/messages';
const HOUR = 3_600_000;

const page = pageOf({ messages: z.array(messageSummarySchema.strict()) });

const underTest = async () => {
  const api = await apiWithOrders();
  return { ...api, list: listing(api, page) };
};

describe('GET /v2/queues/{queue}/messages', () => {
  it('lists the messages of the last 24 hours with their delivery states, newest first, without data', async () => {
    const api = await underTest();
    const kept = { kind: 'inline', message: aMessage({ data: '"not shown"' }) } as const;
    await recordMessage(api, { messageId: 'too-old', acceptedAt: NOON - 24 * HOUR - 1 });
    await recordMessage(api, { messageId: 'old', acceptedAt: NOON - 24 * HOUR, matched: 0, filtered: 3 });
    await recordMessage(api, {
      messageId: 'new',
      type: 'order.created',
      acceptedAt: NOON - 1,
      matched: 2,
      duplicates: 1,
      body: kept,
    });
    await recordAll(api, [
      { messageId: 'new', subscriptionId: 's-1', status: 'delivered' },
      { messageId: 'new', subscriptionId: 's-2', status: 'retrying' },
    ]);
    const none = { pending: 0, retrying: 0, delivered: 0, rejected: 0, exhausted: 0, cancelled: 0 };
    expect(await api.list(LIST)).toEqual({
      messages: [
        {
          queue: 'orders',
          id: 'new',
          type: 'order.created',
          acceptedAt: '2026-11-21T11:59:59.999Z',
          duplicates: 1,
          matched: 2,
          filtered: 0,
          deliveries: { ...none, delivered: 1, retrying: 1 },
          bodyKept: true,
        },
        {
          queue: 'orders',
          id: 'old',
          acceptedAt: '2026-11-20T12:00:00.000Z',
          duplicates: 0,
          matched: 0,
          filtered: 3,
          deliveries: none,
          bodyKept: false,
        },
      ],
      links: [],
    });
  });

  it('does not count the deliveries of a message with thousands of subscriptions', async () => {
    let counted = 0;
    const api = await apiWithOrders();
    const { deliveryListings } = api.dependencies;
    const counting = await apiWithOrders({
      messageRecords: api.messageRecords,
      messageListings: api.dependencies.messageListings,
      deliveryListings: {
        ...deliveryListings,
        tally: (...given) => {
          counted += 1;
          return deliveryListings.tally(...given);
        },
      },
    });
    await recordMessage(api, { messageId: 'small', acceptedAt: NOON - 2 });
    await recordMessage(api, { messageId: 'large', acceptedAt: NOON - 1, matched: 10_000, buckets: 40 });
    const { messages } = page.parse((await counting.call('GET', LIST)).body);
    expect(messages.map(({ id, matched, deliveries }) => [id, matched, deliveries !== undefined])).toEqual([
      ['large', 10_000, false],
      ['small', 1, true],
    ]);
    expect(counted).toBe(1);
  });

  it('pages over the same window while new messages are accepted', async () => {
    const api = await underTest();
    for (let index = 0; index < 5; index += 1)
      await recordMessage(api, { messageId: `m-${index}`, acceptedAt: NOON - 10 * HOUR + index });
    const found: string[] = [];
    for await (const { messages } of pagesFrom(api.list, `${LIST}?limit=2`)) {
      found.push(...messages.map(({ id }) => id));
      await recordMessage(api, { messageId: `late-${found.length}`, acceptedAt: NOON });
    }
    expect(found).toEqual(['m-4', 'm-3', 'm-2', 'm-1', 'm-0']);
  });

  it('has at most 50 messages on a page, because it reads the deliveries of each', async () => {
    const api = await underTest();
    for (let index = 0; index < 60; index += 1)
      await recordMessage(api, { messageId: `m-${index}`, acceptedAt: NOON - 60 + index });
    const { messages, links } = await api.list(`${LIST}?limit=100`);
    expect(messages).toHaveLength(50);
    expect((await api.list(links[0]?.href ?? LIST)).messages).toHaveLength(10);
  });

  it('shows when the data of a message was erased', async () => {
    const api = await underTest();
    await recordMessage(api, { messageId: 'm-1', acceptedAt: NOON - 1, erasedAt: NOON });
    const { messages } = await api.list(LIST);
    expect(messages).toMatchObject([{ bodyKept: false, erasedAt: '2026-11-21T12:00:00.000Z' }]);
  });
});

const ID = 'subscription-1';

let api: Api;

const subscribed = async (options: SubscriptionOptions = {}): Promise<void> => {
  await api.registry.putQueue(aQueue());
  await api.registry.addSubscription(aSubscription({ id: ID, options }));
};

const recorded = (message: Message, isKept = true) =>
  recordMessage(api, { messageId: message.id, ...(isKept && { body: { kind: 'inline', message } }) });

const payloadOf = (messageId: string, subscription = ID) =>
  api.call('GET', `/v2/queues/orders/messages/${messageId}/deliveries/${subscription}/payload`);

describe('GET …/deliveries/{subscription}/payload', () => {
  beforeEach(() => {
    api = apiUnderTest();
  });

  it.each<[string, SubscriptionOptions, RegExp]>([
    ['the standard body', {}, /^\{"id":"m1","queue":"orders",.*"data":12345678901234567890\}$/],
    ['the bare data', { raw_delivery: true }, /^12345678901234567890$/],
    ['a template', { post_data: '["$zaqar_message$"]' }, /^\[\{"id":"m1",.*\}\]$/],
  ])('shows %s as deliver sends it', async (_, options, body) => {
    await subscribed(options);
    await recorded(aMessage({ id: 'm1', data: '12345678901234567890' }));
    expect(await payloadOf('m1')).toMatchObject({
      status: 200,
      body: { body: expect.stringMatching(body) as string },
    });
  });

  it('shows nothing while the message is not stored', async () => {
    await subscribed();
    await recorded(aMessage({ id: 'm1' }), false);
    expect(await payloadOf('m1')).toMatchObject({ status: 200, body: {} });
  });

  it('does not show the link of a confirmation request', async () => {
    await subscribed();
    const link = { tokenHash: tokenHashOf('token'), confirmUrl: 'https://api.example/confirm?token=secret' };
    const message = confirmationMessage({ queue: 'orders', id: ID }, link, NOON);
    await recorded(message);
    const { status, body } = await payloadOf(message.id);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toContain('***');
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('says why a message cannot be rendered', async () => {
    api = apiUnderTest({ render: () => Promise.resolve({ kind: 'unrendered', detail: 'no such field' }) });
    await subscribed();
    await recorded(aMessage({ id: 'm1' }));
    expect(await payloadOf('m1')).toMatchObject({ status: 200, body: { fault: 'no such field' } });
  });

  it('answers 404 for an unknown message or subscription', async () => {
    await subscribed();
    await recorded(aMessage({ id: 'm1' }));
    for (const answer of [await payloadOf('m2'), await payloadOf('m1', 'another')])
      expect(answer).toMatchObject(refusal('not_found'));
  });
});

const key = { queue: 'orders', messageId: 'message-1' };
const delivery = { ...key, subscriptionId: 'subscription-1', bucket: 0 };
const policy = aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 10 });

let world: OneSubscriberWorld;

const erase = () => eraseBody(world, key);

const SIZES = [
  ['in the record', 100],
  ['in the bucket by the first failure', 20_000],
  ['in the bucket by dispatch', 100_000],
] as const;

describe.each(SIZES)('erasing a body that is stored %s', (_, bytes) => {
  const message = aMessage({ data: JSON.stringify('x'.repeat(bytes)) });
  const publish = () => world.dispatch({ ok: true, message });
  const expectNothingStored = async () => {
    expect(await world.messageRecords.find(key)).not.toHaveProperty('body');
    expect(world.payloads.stored.size).toBe(0);
  };

  beforeEach(async () => {
    world = oneSubscriberWorld();
    await world.subscribe(policy);
    world.subscriber.script(world.url, [status(503)]);
  });

  it('ends retries without further requests or dead letters, and records the reason', async () => {
    world.subscriber.onRequest = async (_request, count) => {
      if (count === 2) await erase();
    };
    await publish();
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({
      status: 'cancelled',
      reason: 'body_erased',
      attempts: [{ number: 1 }, { number: 2 }],
    });
    expect(world.deadLetters.sent).toEqual([]);
    await expectNothingStored();
  });

  it('during the first attempt keeps the failure from storing the body', async () => {
    world.subscriber.onRequest = async () => {
      await erase();
    };
    await publish();
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
    expect(world.deadLetters.sent).toEqual([]);
    await expectNothingStored();
  });

  it('before the first attempt leaves nothing stored', async () => {
    await publish();
    await erase();
    await world.clock.run();

    expect(world.subscriber.seen.length).toBeLessThanOrEqual(1);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
    expect(world.deadLetters.sent).toEqual([]);
    await expectNothingStored();
  });

  it('is permanent: a duplicate of the message stores nothing', async () => {
    await publish();
    await world.clock.run();
    await erase();
    await publish();
    await world.clock.run();

    expect(await world.messageRecords.find(key)).toMatchObject({ duplicates: 1 });
    await expectNothingStored();
  });

  it('prevents another round of a delivery that has ended', async () => {
    await publish();
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ status: 'exhausted' });
    await erase();

    expect(await retryDelivery(world.byHandContext, delivery)).toMatchObject({
      kind: 'refused',
      why: 'body_gone',
    });
  });
});

describe('erasing a body', () => {
  beforeEach(() => {
    world = oneSubscriberWorld();
  });

  it('returns no_such_message for an unknown message', async () => {
    expect(await erase()).toBe('no_such_message');
  });

  it('before a failing first attempt keeps the body out of the bucket, where a crash would leave it', async () => {
    await world.subscribe(policy);
    world.subscriber.script(world.url, [status(503)]);
    await world.dispatch({ ok: true, message: aMessage({ data: JSON.stringify('x'.repeat(20_000)) }) });
    await erase();
    const put = vi.spyOn(world.payloads, 'put');
    await world.clock.run();

    expect(put).not.toHaveBeenCalled();
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
  });

  it('lets the next attempt to store the body remove an object that a crash left in the bucket', async () => {
    await world.subscribe(policy);
    world.subscriber.script(world.url, [status(503)]);
    const message = aMessage({ data: JSON.stringify('x'.repeat(20_000)) });
    await world.dispatch({ ok: true, message });
    await erase();
    await world.payloads.put(payloadKeyOf(message), message);
    await world.clock.run();

    expect(world.payloads.stored.size).toBe(0);
  });

  it('stops another round from storing a large body again', async () => {
    await world.subscribe(policy);
    world.subscriber.script(world.url, [status(503)]);
    await world.dispatch({ ok: true, message: aMessage({ data: JSON.stringify('x'.repeat(20_000)) }) });
    await world.clock.run();
    // The record would expire before the end of the round, so the object is stored again.
    world.clock.at(world.clock.now() + 20 * 24 * 60 * 60 * 1000, () => undefined);
    await world.clock.run();
    const get = world.payloads.get.bind(world.payloads);
    const payloads = {
      ...world.payloads,
      get: async (payloadKey: string) => {
        const found = await get(payloadKey);
        await erase();
        return found;
      },
    };
    const { ports, settings } = world.byHandContext;
    const result = await retryDelivery({ ports: { ...ports, payloads }, settings }, delivery);
    expect(result).toMatchObject({ kind: 'refused', why: 'body_gone' });
    expect(world.payloads.stored.size).toBe(0);
  });

  it('completes an interrupted erasure when it is repeated', async () => {
    await world.subscribe(policy);
    world.subscriber.script(world.url, [status(503)]);
    await world.dispatch({ ok: true, message: aMessage({ data: JSON.stringify('x'.repeat(20_000)) }) });
    await world.clock.run();
    const crashing = {
      ...world.payloads,
      removeAll: () => Promise.reject(new Error('The function was killed')),
    };
    await expect(
      eraseBody({ clock: world.clock, messageRecords: world.messageRecords, payloads: crashing }, key),
    ).rejects.toThrow('killed');
    expect(world.payloads.stored.size).toBe(1);
    expect(await erase()).toBe('erased');
    expect(world.payloads.stored.size).toBe(0);
  });
});
