import { beforeEach, describe, expect, vi } from 'vitest';
import * as z from 'zod';
import { eraseBody } from '../../../functions/api/messages/messages.ts';
import { type BodyLocation, toPayloadKey } from '../../../shared/domain/message/body.ts';
import { confirmationMessage } from '../../../shared/domain/message/confirmation-request.ts';
import { type Message, toMessageId } from '../../../shared/domain/message/message.ts';
import { hashToken } from '../../../shared/domain/subscription/confirmation.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { messageSummarySchema, messageViewSchema } from '../../../shared/wire/views/message.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aBarePolicy, aMessage, aSubscription } from '../../support/builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { type Api, CALLER, itWithOrders as it, NOON, recordAll, recordMessage, refusal } from './api-test.ts';

const LIST = '/v2/queues/orders/messages';
const PATH = `${LIST}/order-7`;
const NONE = { pending: 0, retrying: 0, delivered: 0, rejected: 0, exhausted: 0, cancelled: 0 };
/** JSON that parsing would change: large numbers, key order, blanks, escapes, and a duplicate key. */
const DATA = '{"total": 12345678901234567890, "b":1.0,"a":  2, "a": "\\u00fc🐘"}';

const inline = aMessage({ id: 'order-7', data: DATA });

/** A body where messages keep theirs, written there if that is the bucket. */
const keptIn = async (api: Api, place: string): Promise<BodyLocation> => {
  if (place === 'in the record') return { kind: 'inline', message: inline };
  const payloadKey = toPayloadKey(inline);
  await api.payloads.put(payloadKey, inline);
  return { kind: 'stored', payloadKey };
};

const PLACES = ['in the record', 'in the bucket'];

describe('GET /v2/queues/{queue}/messages/{id}', () => {
  it('shows a message with its delivery states, counted from the records', async ({ api }) => {
    const fields = { type: 'order.created', matched: 5, filtered: 2, duplicates: 3 };
    await recordMessage(api, { messageId: 'order-7', ...fields, body: { kind: 'inline', message: inline } });
    const statuses = ['delivered', 'delivered', 'retrying', 'cancelled'] as const;
    await recordAll(
      api,
      statuses.map((status) => ({ messageId: 'order-7', status })),
    );
    await recordAll(api, [{ messageId: 'order-8', status: 'rejected' }]);
    const body = messageViewSchema.strict().parse(await api.get(PATH));
    expect(body).toMatchObject({
      queue: 'orders',
      id: 'order-7',
      acceptedAt: '2026-11-21T12:00:00.000Z',
      ...fields,
      deliveries: { ...NONE, retrying: 1, delivered: 2, cancelled: 1 },
      bodyKept: true,
    });
    expect(body).not.toHaveProperty('deliveriesAtLeast');
  });

  it('shows `unfinished` for a message that was not sent to all subscriptions yet', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', lastSubscriptionId: 's-5' });
    expect(await api.get(PATH)).toMatchObject({ matched: 1, unfinished: true });
  });

  it('counts only the first 40 buckets of a message with many deliveries, and says so', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', matched: 4, buckets: 100, firstBucket: 7 });
    await recordAll(
      api,
      [7, 46, 47, 106].map((bucket) => ({ messageId: 'order-7', bucket })),
    );
    expect(await api.get(PATH)).toMatchObject({ deliveries: { retrying: 2 }, deliveriesAtLeast: true });
  });

  it('shows `queueDeleted` for a message that a deleted queue of the name accepted', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', queueCreatedAt: 1 });
    await api.registry.deleteQueue('orders', 5);
    expect(await api.get(PATH)).toMatchObject({ queueDeleted: true });
    await api.registry.putQueue({ name: 'orders', metadata: {}, createdAt: 10 });
    expect(await api.get(PATH)).toMatchObject({ queueDeleted: true });
    await recordMessage(api, { messageId: 'order-8', queueCreatedAt: 10 });
    expect(await api.get(`${LIST}/order-8`)).not.toHaveProperty('queueDeleted');
  });

  it.for(PLACES)('returns a body %s byte for byte', async (place, { api }) => {
    await recordMessage(api, { messageId: 'order-7', body: await keptIn(api, place) });
    expect(await api.text('GET', PATH)).toContain(`"bodyKept":true,"body":${DATA}}`);
  });

  it.for<[string, { body?: BodyLocation }]>([
    ['that was never stored', {}],
    ['that has expired in the bucket', { body: { kind: 'stored', payloadKey: 'orders/order-7/gone' } }],
  ])('shows the absence of a body %s', async ([, kept], { api }) => {
    await recordMessage(api, { messageId: 'order-7', ...kept });
    const body = await api.get(PATH);
    expect(body).toMatchObject({ bodyKept: false });
    expect(body).not.toHaveProperty('body');
    expect(body).not.toHaveProperty('erasedAt');
  });

  it("accepts the producer's message id", async ({ api }) => {
    const { id } = toMessageId({ id: 'order 7 ü' });
    await recordMessage(api, { messageId: id });
    expect(await api.get(`${LIST}/${encodeURIComponent('order 7 ü')}`)).toMatchObject({ id });
  });
});

describe('DELETE /v2/queues/{queue}/messages/{id}/body', () => {
  it.for(PLACES)('erases a body %s, and shows that from then on', async (place, { api }) => {
    await recordMessage(api, { messageId: 'order-7', body: await keptIn(api, place) });
    expect(await api.call('DELETE', `${PATH}/body`)).toMatchObject({ status: 204, body: undefined });
    const text = await api.text('GET', PATH);
    expect(text).toContain('"bodyKept":false,"erasedAt":"2026-11-21T12:00:00.000Z"');
    expect(text).not.toContain('12345678901234567890');
    expect(api.payloads.stored.size).toBe(0);
    api.time.now += 1000;
    expect(await api.call('DELETE', `${PATH}/body`)).toMatchObject({ status: 204 });
    expect(await api.text('GET', PATH)).toBe(text);
  });

  it('is on the audit trail with ids only', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', body: { kind: 'inline', message: inline } });
    await api.call('DELETE', `${PATH}/body`);
    expect(api.changes).toEqual([
      { ...CALLER, change: 'body_erased', queue: 'orders', messageId: 'order-7' },
    ]);
  });
});

const HOUR = 3_600_000;

const page = z.object({ messages: z.array(messageSummarySchema.strict()) });

describe('GET /v2/queues/{queue}/messages', () => {
  it('lists the messages of the last 24 hours with their delivery states, without data', async ({ api }) => {
    const kept = { kind: 'inline', message: aMessage({ data: '"not shown"' }) } as const;
    const [old, young] = [
      { matched: 0, filtered: 3, duplicates: 0 },
      { matched: 2, filtered: 0, duplicates: 1, type: 'order.created' },
    ];
    await recordMessage(api, { messageId: 'too-old', acceptedAt: NOON - 24 * HOUR - 1 });
    await recordMessage(api, { messageId: 'old', acceptedAt: NOON - 24 * HOUR, ...old });
    await recordMessage(api, { messageId: 'new', acceptedAt: NOON - 1, ...young, body: kept });
    await recordAll(api, [
      { messageId: 'new', subscriptionId: 's-1', status: 'delivered' },
      { messageId: 'new', subscriptionId: 's-2', status: 'retrying' },
    ]);
    const of = { queue: 'orders' };
    const deliveries = { ...NONE, delivered: 1, retrying: 1 };
    expect(await api.get(LIST)).toEqual({
      messages: [
        { ...of, id: 'new', acceptedAt: '2026-11-21T11:59:59.999Z', ...young, deliveries, bodyKept: true },
        {
          ...of,
          id: 'old',
          acceptedAt: '2026-11-20T12:00:00.000Z',
          ...old,
          deliveries: NONE,
          bodyKept: false,
        },
      ],
      links: [],
    });
  });

  it('does not count the deliveries of a message with thousands of subscriptions', async ({ api }) => {
    const tally = vi.spyOn(api.dependencies.deliveryListings, 'tally');
    await recordMessage(api, { messageId: 'small', acceptedAt: NOON - 2 });
    await recordMessage(api, { messageId: 'large', acceptedAt: NOON - 1, matched: 10_000, buckets: 40 });
    const { messages } = page.parse(await api.get(LIST));
    expect(messages.map(({ id, matched, deliveries }) => [id, matched, deliveries !== undefined])).toEqual([
      ['large', 10_000, false],
      ['small', 1, true],
    ]);
    expect(tally).toHaveBeenCalledTimes(1);
  });

  it('pages over the same window while new messages are accepted', async ({ api }) => {
    for (let index = 0; index < 5; index += 1)
      await recordMessage(api, { messageId: `m-${index}`, acceptedAt: NOON - 10 * HOUR + index });
    const next = await api.nextOf(`${LIST}?limit=2`);
    await recordMessage(api, { messageId: 'late', acceptedAt: NOON });
    expect(await api.pages(next, 'messages', 'id')).toEqual([['m-2', 'm-1'], ['m-0']]);
  });

  it('has at most 50 messages on a page, because it reads the deliveries of each', async ({ api }) => {
    for (let index = 0; index < 60; index += 1)
      await recordMessage(api, { messageId: `m-${index}`, acceptedAt: NOON - 60 + index });
    const pages = await api.pages(`${LIST}?limit=100`, 'messages', 'id');
    expect(pages.map(({ length }) => length)).toEqual([50, 10]);
  });

  it('shows when the data of a message was erased', async ({ api }) => {
    await recordMessage(api, { messageId: 'm-1', acceptedAt: NOON - 1, erasedAt: NOON });
    const erased = { bodyKept: false, erasedAt: '2026-11-21T12:00:00.000Z' };
    expect(await api.get(LIST)).toMatchObject({ messages: [erased] });
  });
});

const ID = 'subscription-1';

const subscribed = async (api: Api, options: SubscriptionOptions = {}): Promise<void> => {
  await addSubscription(api.registry, aSubscription({ id: ID, options }));
};

const recorded = (api: Api, message: Message) =>
  recordMessage(api, { messageId: message.id, body: { kind: 'inline', message } });

const payloadOf = (messageId: string, subscription = ID) =>
  `${LIST}/${messageId}/deliveries/${subscription}/payload`;

describe('GET …/deliveries/{subscription}/payload', () => {
  it.for<[string, SubscriptionOptions, RegExp]>([
    ['the standard body', {}, /^\{"id":"m1","queue":"orders",.*"data":12345678901234567890\}$/],
    ['the bare data', { raw_delivery: true }, /^12345678901234567890$/],
    ['a template', { post_data: '["$zaqar_message$"]' }, /^\[\{"id":"m1",.*\}\]$/],
  ])('shows %s as deliver sends it', async ([, options, body], { api }) => {
    await subscribed(api, options);
    await recorded(api, aMessage({ id: 'm1', data: '12345678901234567890' }));
    expect(await api.get(payloadOf('m1'))).toEqual({ body: expect.stringMatching(body) as string });
  });

  it('shows nothing while the message is not stored', async ({ api }) => {
    await subscribed(api);
    await recordMessage(api, { messageId: 'm1' });
    expect(await api.get(payloadOf('m1'))).toEqual({});
  });

  it('does not show the link of a confirmation request', async ({ api }) => {
    await subscribed(api);
    const link = { tokenHash: hashToken('token'), confirmUrl: 'https://api.example/confirm?token=secret' };
    const message = confirmationMessage({ queue: 'orders', id: ID }, link, NOON);
    await recorded(api, message);
    const shown = JSON.stringify(await api.get(payloadOf(message.id)));
    expect(shown).toContain('***');
    expect(shown).not.toContain('secret');
  });

  it('says why a message cannot be rendered', async ({ api }) => {
    api.dependencies.render = () => Promise.resolve({ kind: 'unrendered', detail: 'no such field' });
    await subscribed(api);
    await recorded(api, aMessage({ id: 'm1' }));
    expect(await api.get(payloadOf('m1'))).toEqual({ fault: 'no such field' });
  });

  it('answers 404 for an unknown message or subscription', async ({ api }) => {
    await subscribed(api);
    await recorded(api, aMessage({ id: 'm1' }));
    for (const path of [payloadOf('m2'), payloadOf('m1', 'another')])
      expect(await api.call('GET', path)).toMatchObject(refusal('not_found'));
  });
});

const key = { queue: 'orders', messageId: 'message-1' };
const delivery = { ...key, subscriptionId: 'subscription-1', bucket: 0 };
const policy = aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 10 });

let world: OneSubscriberWorld;

/** One subscriber, which answers 503 first. */
beforeEach(async () => {
  world = oneSubscriberWorld();
  await world.subscribe(policy);
  world.subscriber.script(world.url, [status(503)]);
});

const erase = () => eraseBody(world, key);

const ofBytes = (bytes: number) => aMessage({ data: JSON.stringify('x'.repeat(bytes)) });
const publish = (message: Message) => world.dispatch({ ok: true, message });

const SIZES = [
  ['in the record', 100],
  ['in the bucket by the first failure', 20_000],
  ['in the bucket by dispatch', 100_000],
] as const;

describe.each(SIZES)('erasing a body that is stored %s', (_, bytes) => {
  const message = ofBytes(bytes);
  const expectErased = async () => {
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
    expect(world.deadLetters.sent).toEqual([]);
    await expectNothingStored();
  };
  const expectNothingStored = async () => {
    expect(await world.messageRecords.find(key)).not.toHaveProperty('body');
    expect(world.payloads.stored.size).toBe(0);
  };

  it('ends retries without further requests or dead letters, and records the reason', async () => {
    world.subscriber.onRequest = async (_request, count) => {
      if (count === 2) await erase();
    };
    await publish(message);
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect((await world.delivery()).attempts).toHaveLength(2);
    await expectErased();
  });

  it('during the first attempt keeps the failure from storing the body', async () => {
    world.subscriber.onRequest = async () => {
      await erase();
    };
    await publish(message);
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(1);
    await expectErased();
  });

  it('before the first attempt leaves nothing stored', async () => {
    await publish(message);
    await erase();
    await world.clock.run();

    expect(world.subscriber.seen.length).toBeLessThanOrEqual(1);
    await expectErased();
  });

  it('is permanent: a duplicate of the message stores nothing', async () => {
    await publish(message);
    await world.clock.run();
    await erase();
    await publish(message);
    await world.clock.run();

    expect(await world.messageRecords.find(key)).toMatchObject({ duplicates: 1 });
    await expectNothingStored();
  });

  it('prevents another round of a delivery that has ended', async () => {
    await publish(message);
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ status: 'exhausted' });
    await erase();

    const result = await retryDelivery(world.byHandContext, delivery);
    expect(result).toMatchObject({ kind: 'refused', why: 'body_gone' });
  });
});

describe('erasing a body', () => {
  it('before a failing first attempt keeps the body out of the bucket, where a crash would leave it', async () => {
    await publish(ofBytes(20_000));
    await erase();
    const put = vi.spyOn(world.payloads, 'put');
    await world.clock.run();

    expect(put).not.toHaveBeenCalled();
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
  });

  it('lets the next attempt to store the body remove an object that a crash left in the bucket', async () => {
    const message = ofBytes(20_000);
    await publish(message);
    await erase();
    await world.payloads.put(toPayloadKey(message), message);
    await world.clock.run();

    expect(world.payloads.stored.size).toBe(0);
  });

  it('stops another round from storing a large body again', async () => {
    await publish(ofBytes(20_000));
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
    await publish(ofBytes(20_000));
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
