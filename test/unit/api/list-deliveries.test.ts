import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { messageIdOf } from '../../../shared/domain/message/message.ts';
import {
  deliverySummarySchema,
  deliveryView,
  deliveryViewSchema,
  subscriptionDeliverySchema,
} from '../../../shared/wire/views/delivery.ts';
import { aSubscription } from '../../support/builders.ts';
import { aDelivery, anAttempt, answered } from '../../support/delivery-builders.ts';
import { inMemoryDeliveryListings } from '../../support/in-memory/in-memory-delivery-listings.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';
import { apiWithOrders, listing, pageOf, recordAll, recordMessage } from './recorded.ts';

const PATH = '/v2/queues/orders/deliveries';
const MINUTE = 60_000;

const page = pageOf({ deliveries: z.array(deliverySummarySchema.strict()) });

const underTest = async () => {
  const api = await apiWithOrders();
  const list = listing(api, page);
  /** The message ids of each page, in the order listed. */
  const walk = async (first: string): Promise<string[][]> => {
    const pages: string[][] = [];
    for (let path: string | undefined = first; path !== undefined;) {
      const { deliveries, links } = await list(path);
      pages.push(deliveries.map(({ messageId }) => messageId));
      path = links[0]?.href;
    }
    return pages;
  };
  return { ...api, list, walk };
};

describe('GET /v2/queues/{queue}/deliveries', () => {
  it('lists deliveries that are not delivered, newest first', async () => {
    const api = await underTest();
    await recordAll(api, [
      {
        messageId: 'old',
        subscriptionId: 's-1',
        attempts: [
          anAttempt({ startedAt: NOON + 1, result: answered(503, 'not shown') }),
          anAttempt({
            number: 2,
            phase: 'immediate',
            startedAt: NOON + 2,
            result: { kind: 'unanswered', error: 'timeout' },
          }),
        ],
        next: { number: 3, phase: 'immediate', dueAt: NOON + 9, by: 'sqs_delay' },
      },
      {
        messageId: 'new',
        subscriptionId: 's-2',
        status: 'cancelled',
        reason: 'disabled',
        acceptedAt: NOON + MINUTE,
      },
      { messageId: 'delivered', status: 'delivered' },
      { messageId: 'pending', status: 'pending' },
    ]);
    expect(await api.list(PATH)).toEqual({
      deliveries: [
        {
          queue: 'orders',
          messageId: 'new',
          subscriptionId: 's-2',
          status: 'cancelled',
          reason: 'disabled',
          acceptedAt: '2026-11-21T12:01:00.000Z',
          attemptCount: 0,
        },
        {
          queue: 'orders',
          messageId: 'old',
          subscriptionId: 's-1',
          status: 'retrying',
          acceptedAt: '2026-11-21T12:00:00.000Z',
          attemptCount: 2,
          lastAttempt: {
            number: 2,
            startedAt: '2026-11-21T12:00:00.002Z',
            outcome: 'failed',

            error: 'timeout',
          },
          nextAttemptAt: '2026-11-21T12:00:00.009Z',
        },
      ],
      links: [],
    });
  });

  it('includes deliveries that wait for a rate limit', async () => {
    const api = await underTest();
    const next = { number: 1, phase: 'initial', dueAt: NOON + 9, by: 'sqs_delay' } as const;
    await recordAll(api, [
      {
        messageId: 'waiting',
        status: 'pending',
        attempts: [],
        next,
        slot: { at: NOON + MINUTE, epoch: 'e' },
      },
    ]);
    for (const path of [PATH, `${PATH}?status=pending`]) {
      const { deliveries } = await api.list(path);
      expect(deliveries).toMatchObject([{ messageId: 'waiting', nextAttemptAt: '2026-11-21T12:01:00.000Z' }]);
    }
  });

  it('pages through all deliveries by links that keep the selection', async () => {
    const api = await underTest();
    await recordAll(
      api,
      Array.from({ length: 25 }, (_, index) => ({
        messageId: `m-${String(index).padStart(2, '0')}`,
        subscriptionId: index % 2 === 0 ? 'even' : 'odd',
        acceptedAt: NOON + index * MINUTE,
        status: index < 20 ? ('rejected' as const) : ('exhausted' as const),
      })),
    );
    const until = encodeURIComponent('2026-11-21T13:14:00+01:00');
    const pages = await api.walk(
      `${PATH}?status=rejected&subscription=even&since=2026-11-21T12:04:00Z&until=${until}&limit=2`,
    );
    expect(pages).toEqual([['m-12', 'm-10'], ['m-08', 'm-06'], ['m-04']]);
    expect((await api.walk(PATH)).map((one) => one.length)).toEqual([10, 10, 5]);
    expect((await api.walk(`${PATH}?limit=100`)).map((one) => one.length)).toEqual([25]);
  });

  it('returns a page of 100 from 100,000 deliveries', async () => {
    const records = new Map(
      Array.from({ length: 100_000 }, (_, index) => [
        String(index),
        aDelivery({
          key: { queue: 'orders', messageId: `m-${index}`, subscriptionId: 's', bucket: 0 },
          acceptedAt: NOON + index,
          status: 'retrying',
        }),
      ]),
    );
    const { call } = await apiWithOrders({ deliveryListings: inMemoryDeliveryListings({ records }) });
    const { deliveries, links } = page.parse((await call('GET', `${PATH}?limit=100`)).body);
    expect(deliveries.map(({ messageId }) => messageId)).toEqual(
      Array.from({ length: 100 }, (_, index) => `m-${99_999 - index}`),
    );
    expect(links).toHaveLength(1);
  });

  it('leaves out listed deliveries that no longer match or no longer exist', async () => {
    const { messageRecords, deliveries, dependencies } = await apiWithOrders();
    const [ended, delivered, gone] = await recordAll({ deliveries }, [
      { messageId: 'a' },
      { messageId: 'b' },
      { messageId: 'c' },
    ]);
    const stale = [ended, delivered, gone].flatMap((one) =>
      one === undefined ? [] : [{ key: one.key, acceptedAt: NOON, status: one.status }],
    );
    for (const [delivery, end] of [
      [ended, { status: 'exhausted', reason: 'retries_exhausted' }],
      [delivered, { status: 'delivered' }],
    ] as const) {
      if (delivery === undefined) continue;
      const change = { ...end, updatedAt: NOON, expiresAt: NOON };
      await deliveries.write({ name: 'record', key: delivery.key, expect: { kind: 'present' }, change });
    }
    const { call } = await apiWithOrders({
      messageRecords,
      deliveryListings: {
        ...dependencies.deliveryListings,
        newest: () => Promise.resolve({ items: stale }),
        records: (keys) =>
          dependencies.deliveryListings.records(keys.filter(({ messageId }) => messageId !== 'c')),
      },
    });
    const idsIn = async (path: string) =>
      page.parse((await call('GET', path)).body).deliveries.map(({ messageId }) => messageId);
    expect(await idsIn(PATH)).toEqual(['a']);
    expect(await idsIn(`${PATH}?status=retrying`)).toEqual([]);
  });

  it('is empty for a queue without deliveries', async () => {
    expect(await (await underTest()).list(PATH)).toEqual({ deliveries: [], links: [] });
  });

  it('accepts times in lower case and with nanoseconds', async () => {
    await (await underTest()).list(`${PATH}?since=2026-11-21t12:00:00.123456789z`);
  });

  it('refuses the marker of another selection', async () => {
    const api = await underTest();
    await recordAll(api, [{}, {}, {}]);
    const { links } = await api.list(`${PATH}?limit=1`);
    const marker = new URL(links[0]?.href ?? '', 'https://a.test').searchParams.get('marker') ?? '';
    for (const path of [`${PATH}?status=retrying`, `${PATH}?since=2026-11-21T12:00:00Z`])
      expect(await api.call('GET', `${path}&marker=${marker}`)).toMatchObject({
        status: 400,
        body: faultOf('invalid_request', 'marker'),
      });
    expect(await api.call('GET', `/v2/queues/bills/deliveries?deleted=true&marker=${marker}`)).toMatchObject({
      status: 400,
    });
  });
});

describe('GET /v2/queues/{queue}/messages/{id}/deliveries', () => {
  const PATH = '/v2/queues/orders/messages';

  const record = (messageId: string, buckets = 1) => ({
    key: { queue: 'orders', messageId },
    acceptedAt: NOON,
    listedAt: NOON,
    matched: 1,
    filtered: 0,
    duplicates: 0,
    buckets,
    expiresAt: NOON + 1,
  });

  const delivery = (subscriptionId: string, bucket: number): Delivery => ({
    key: { queue: 'orders', messageId: 'order-7', subscriptionId, bucket },
    acceptedAt: NOON,
    status: 'retrying',
    round: 1,
    attempts: [
      {
        number: 1,
        round: 1,
        phase: 'initial',
        startedAt: NOON,
        durationMs: 12,
        outcome: 'failed',
        result: answered(503),
      },
    ],
    lateResults: [],
    lost: 0,
    next: { number: 2, phase: 'immediate', dueAt: NOON + 1000, by: 'sqs_delay' },
    lease: { owner: 'internal', until: NOON },
    pendingSteps: [],
    recoveries: [],
    updatedAt: NOON,
    expiresAt: NOON + 1,
  });

  it('answers 404 for a message that is unknown or not yet dispatched', async () => {
    const { call } = apiUnderTest();
    await call('POST', PATH, { messages: [{ id: 'order-7', body: 1 }] });
    expect(await call('GET', `${PATH}/order-7/deliveries`)).toMatchObject({
      status: 404,
      body: faultOf('not_found'),
    });
  });

  it('answers with an empty list until the first delivery is recorded', async () => {
    const { call, messageRecords } = apiUnderTest();
    await messageRecords.accept(record('order-7'));
    expect(await call('GET', `${PATH}/order-7/deliveries`)).toMatchObject({
      status: 200,
      body: { deliveries: [], links: [] },
    });
  });

  it('shows the deliveries of all buckets, without internal fields', async () => {
    const { call, messageRecords, deliveries } = apiUnderTest();
    await messageRecords.accept(record('order-7', 2));
    const recorded = [delivery('one', 0), delivery('two', 1)];
    for (const create of recorded) {
      await deliveries.write({ name: 'open', key: create.key, expect: { kind: 'absent' }, create });
    }
    const answer = await call('GET', `${PATH}/order-7/deliveries`);
    expect(answer).toMatchObject({
      status: 200,
      body: { deliveries: recorded.map(deliveryView), links: [] },
    });
    expect(JSON.stringify(answer.body)).not.toContain('internal');
  });

  it('pages through all deliveries by links, each once', async () => {
    const { call, messageRecords, deliveries } = apiUnderTest();
    await messageRecords.accept(record('order-7', 2));
    for (const [index, subscription] of ['a', 'b', 'c', 'd', 'e', 'f', 'g'].entries()) {
      const create = delivery(subscription, index % 2);
      await deliveries.write({ name: 'open', key: create.key, expect: { kind: 'absent' }, create });
    }
    const seen: string[] = [];
    for (let path: string | undefined = `${PATH}/order-7/deliveries?limit=3`; path !== undefined;) {
      const page = z
        .object({ deliveries: z.array(deliveryViewSchema), links: z.array(z.object({ href: z.string() })) })
        .parse((await call('GET', path)).body);
      expect(page.deliveries.length).toBeLessThanOrEqual(3);
      seen.push(...page.deliveries.map(({ subscriptionId }) => subscriptionId));
      path = page.links[0]?.href;
    }
    expect(seen.join('')).toBe('acegbdf');
  });

  it.each(['limit=0', 'limit=ten', 'marker=x'])('refuses ?%s', async (query) => {
    const { call, messageRecords } = apiUnderTest();
    await messageRecords.accept(record('order-7'));
    expect(await call('GET', `${PATH}/order-7/deliveries?${query}`)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', query.split('=')[0] ?? ''),
    });
  });

  it("accepts the producer's message id", async () => {
    const { call, messageRecords } = apiUnderTest();
    await messageRecords.accept(record(messageIdOf({ id: 'order 7 ü' }).id));
    expect(await call('GET', `${PATH}/${encodeURIComponent('order 7 ü')}/deliveries`)).toMatchObject({
      status: 200,
    });
  });

  it("does not find another queue's message", async () => {
    const { call, messageRecords } = apiUnderTest();
    await messageRecords.accept(record('order-7'));
    expect(await call('GET', '/v2/queues/bills/messages/order-7/deliveries')).toMatchObject({ status: 404 });
  });
});

describe('GET /v2/queues/{queue}/subscriptions/{subscription}/deliveries', () => {
  const PATH = '/v2/queues/orders/subscriptions/s-1/deliveries';

  const page = pageOf({ deliveries: z.array(subscriptionDeliverySchema.strict()) });

  const underTest = async (...overrides: Parameters<typeof apiWithOrders>) => {
    const api = await apiWithOrders(...overrides);
    await api.registry.addSubscription(aSubscription({ queue: 'orders', id: 's-1' }));
    /** Records the message `m-<minute>`, accepted so many minutes before noon, with its delivery to a subscription. */
    const record = async (
      minute: number,
      {
        subscriptionId = 's-1',
        type,
        ...delivery
      }: Parameters<typeof recordAll>[1][number] & { type?: string },
    ): Promise<void> => {
      const acceptedAt = NOON - minute * 60_000;
      const messageId = `m-${minute}`;
      await recordMessage(api, { messageId, acceptedAt, ...(type !== undefined && { type }) });
      await recordAll(api, [{ messageId, subscriptionId, acceptedAt, ...delivery }]);
    };
    return { ...api, record, list: listing(api, page) };
  };

  it('lists all deliveries of the last 24 hours, newest message first, with their times', async () => {
    const { record, list } = await underTest();
    await record(1, { status: 'pending', attempts: [] });
    await record(24 * 60 + 1, { status: 'delivered' });
    await record(2, { subscriptionId: 's-2', status: 'delivered' });
    const at = NOON - 3 * 60_000;
    const success = anAttempt({
      number: 2,
      outcome: 'delivered',
      result: answered(200),
      startedAt: at + 5_000,
      durationMs: 30,
    });
    await record(3, {
      type: 'order.created',
      status: 'delivered',
      attempts: [anAttempt({ startedAt: at, durationMs: 120 }), success],
    });
    await record(4, { status: 'exhausted', reason: 'retries_exhausted', attempts: [anAttempt()] });
    const { deliveries, links } = await list(PATH);
    expect(links).toEqual([]);
    expect(deliveries).toMatchObject([
      { messageId: 'm-1', subscriptionId: 's-1', status: 'pending', attemptCount: 0 },
      {
        messageId: 'm-3',
        status: 'delivered',
        messageType: 'order.created',
        attemptCount: 2,
        lastAttempt: { number: 2, outcome: 'delivered', statusCode: 200 },
        durationMs: 30,
        deliveredAfterMs: 5_030,
      },
      { messageId: 'm-4', status: 'exhausted', reason: 'retries_exhausted', durationMs: 120 },
    ]);
    expect(deliveries[0]).not.toHaveProperty('durationMs');
    expect(deliveries[2]).not.toHaveProperty('deliveredAfterMs');
  });

  it('measures a success that came after its lease was lost, and never less than nothing', async () => {
    const { record, list } = await underTest();
    const success = { outcome: 'delivered', durationMs: 40 } as const;
    const late = anAttempt({ ...success, startedAt: NOON - 60_000 + 9_000 });
    await record(1, { status: 'delivered', attempts: [anAttempt()], lateResults: [late] });
    // The clocks of two functions differ.
    const early = anAttempt({ ...success, startedAt: NOON - 2 * 60_000 - 500 });
    await record(2, { status: 'delivered', attempts: [early] });
    expect((await list(PATH)).deliveries).toMatchObject([
      { deliveredAfterMs: 9_040, durationMs: 120 },
      { deliveredAfterMs: 0 },
    ]);
  });

  it('fills each page from the messages of the queue, and goes on through links', async () => {
    const { record, list } = await underTest();
    for (let minute = 1; minute <= 60; minute += 1)
      await record(minute, { subscriptionId: minute % 3 === 0 ? 's-1' : 's-2', status: 'delivered' });
    const seen: string[][] = [];
    const until = new Date(NOON - 60_000).toISOString();
    for (let path: string | undefined = `${PATH}?limit=8&until=${until}`; path !== undefined;) {
      const { deliveries, links } = await list(path);
      seen.push(deliveries.map(({ messageId }) => messageId));
      path = links[0]?.href;
    }
    expect(seen.flat()).toEqual(Array.from({ length: 20 }, (_, index) => `m-${3 * index + 3}`));
    expect(seen.map((messages) => messages.length)).toEqual([8, 8, 4]);
  });

  it.each([
    [100, 2],
    [5, 4],
  ])('reads a bounded number of messages for a page of up to %i, which may be empty', async (limit, most) => {
    const { record, list } = await underTest();
    for (let minute = 1; minute <= 150; minute += 1)
      await record(minute, { subscriptionId: 's-2', status: 'delivered' });
    await record(155, { status: 'delivered' });
    const pages: number[] = [];
    for (let path: string | undefined = `${PATH}?limit=${limit}`; path !== undefined;) {
      const { deliveries, links } = await list(path);
      pages.push(deliveries.length);
      path = links[0]?.href;
    }
    expect(pages.slice(0, -1)).toEqual(pages.slice(1).map(() => 0));
    expect(pages).toHaveLength(most);
    expect(pages.at(-1)).toBe(1);
  });

  it('ends with a short page of the listing, which looked through many hours', async () => {
    const { list, dependencies } = await underTest();
    let reads = 0;
    dependencies.messageListings.newest = () => {
      reads += 1;
      return Promise.resolve({ items: [], marker: 'next' });
    };
    expect((await list(PATH)).links).toHaveLength(1);
    expect(reads).toBe(1);
  });

  it('is 404 for an unknown queue or subscription, and reads the records of a deleted one on request', async () => {
    const { call, record, list } = await underTest();
    await record(1, { subscriptionId: 's-3', status: 'delivered' });
    for (const path of [
      '/v2/queues/bills/subscriptions/s-1/deliveries',
      PATH.replace('s-1', 's-3'),
      PATH.replace('s-1', 'not%20an%20id'),
    ])
      expect(await call('GET', path), path).toMatchObject({ status: 404, body: faultOf('not_found') });
    const { deliveries } = await list(`${PATH.replace('s-1', 's-3')}?deleted=true`);
    expect(deliveries).toMatchObject([{ messageId: 'm-1', subscriptionId: 's-3' }]);
  });
});
