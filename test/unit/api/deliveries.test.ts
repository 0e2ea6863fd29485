import { describe, expect } from 'vitest';
import * as z from 'zod';
import { bucketOf } from '../../../shared/domain/delivery/fan-out.ts';
import { messageIdOf } from '../../../shared/domain/message/message.ts';
import { DEFAULT_RETRY_POLICY } from '../../../shared/domain/retry/policy.ts';
import { deliveryView, deliveryViewSchema } from '../../../shared/wire/views/delivery.ts';
import { aBarePolicy, aQueue, aSubscription } from '../../support/builders.ts';
import { aDelivery, aDeliveryKey, anAttempt, answered } from '../../support/delivery-builders.ts';
import {
  type Api,
  apiWithOrders,
  invalid,
  it,
  listing,
  NOON,
  pageOf,
  pagesFrom,
  recordAll,
  recordMessage,
  refusal,
} from './api-test.ts';
import {
  deliveryDetailSchema,
  deliverySummarySchema,
  subscriptionDeliverySchema,
} from '../../../shared/wire/views/delivery.ts';
import { inMemoryDeliveryListings } from '../../support/in-memory/in-memory-deliveries.ts';

const PATH = '/v2/queues/orders/deliveries';
const MINUTE = 60_000;

const page = pageOf({ deliveries: z.array(deliverySummarySchema.strict()) });

const underTest = async () => {
  const api = await apiWithOrders();
  const list = listing(api, page);
  /** The message ids of each page, in the order listed. */
  const walk = async (first: string): Promise<string[][]> => {
    const pages: string[][] = [];
    for await (const { deliveries } of pagesFrom(list, first))
      pages.push(deliveries.map(({ messageId }) => messageId));
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
      expect(await api.call('GET', `${path}&marker=${marker}`)).toMatchObject(invalid('marker'));
    expect(await api.call('GET', `/v2/queues/bills/deliveries?deleted=true&marker=${marker}`)).toMatchObject({
      status: 400,
    });
  });
});

const MESSAGES = '/v2/queues/orders/messages';

describe('GET /v2/queues/{queue}/messages/{id}/deliveries', () => {
  const recordDelivery = (api: Api, subscriptionId: string, bucket: number) =>
    recordAll(api, [
      {
        messageId: 'order-7',
        subscriptionId,
        bucket,
        attempts: [anAttempt({ startedAt: NOON })],
        lease: { owner: 'internal', until: NOON },
      },
    ]);

  it('answers 404 for a message that is unknown or not yet dispatched', async ({ call }) => {
    await call('POST', MESSAGES, { messages: [{ id: 'order-7', body: 1 }] });
    expect(await call('GET', `${MESSAGES}/order-7/deliveries`)).toMatchObject(refusal('not_found'));
  });

  it('answers with an empty list until the first delivery is recorded', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7' });
    expect(await api.call('GET', `${MESSAGES}/order-7/deliveries`)).toMatchObject({
      status: 200,
      body: { deliveries: [], links: [] },
    });
  });

  it('shows the deliveries of all buckets, without internal fields', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', buckets: 2 });
    const recorded = [...(await recordDelivery(api, 'one', 0)), ...(await recordDelivery(api, 'two', 1))];
    const answer = await api.call('GET', `${MESSAGES}/order-7/deliveries`);
    expect(answer).toMatchObject({
      status: 200,
      body: { deliveries: recorded.map(deliveryView), links: [] },
    });
    expect(JSON.stringify(answer.body)).not.toContain('internal');
  });

  it('pages through all deliveries by links, each once', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', buckets: 2 });
    for (const [index, subscription] of ['a', 'b', 'c', 'd', 'e', 'f', 'g'].entries())
      await recordDelivery(api, subscription, index % 2);
    const seen: string[] = [];
    const list = listing(api, pageOf({ deliveries: z.array(deliveryViewSchema) }));
    for await (const { deliveries } of pagesFrom(list, `${MESSAGES}/order-7/deliveries?limit=3`)) {
      expect(deliveries.length).toBeLessThanOrEqual(3);
      seen.push(...deliveries.map(({ subscriptionId }) => subscriptionId));
    }
    expect(seen.join('')).toBe('acegbdf');
  });

  it("accepts the producer's message id", async ({ api }) => {
    await recordMessage(api, { messageId: messageIdOf({ id: 'order 7 ü' }).id });
    expect(await api.call('GET', `${MESSAGES}/${encodeURIComponent('order 7 ü')}/deliveries`)).toMatchObject({
      status: 200,
    });
  });

  it("does not find another queue's message", async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7' });
    expect(await api.call('GET', '/v2/queues/bills/messages/order-7/deliveries')).toMatchObject({
      status: 404,
    });
  });
});

const OF_SUBSCRIPTION = '/v2/queues/orders/subscriptions/s-1/deliveries';

const subscriptionPage = pageOf({ deliveries: z.array(subscriptionDeliverySchema.strict()) });

const withSubscription = async (...overrides: Parameters<typeof apiWithOrders>) => {
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
  return { ...api, record, list: listing(api, subscriptionPage) };
};

describe('GET /v2/queues/{queue}/subscriptions/{subscription}/deliveries', () => {
  it('lists all deliveries of the last 24 hours, newest message first, with their times', async () => {
    const { record, list } = await withSubscription();
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
    const { deliveries, links } = await list(OF_SUBSCRIPTION);
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
    const { record, list } = await withSubscription();
    const success = { outcome: 'delivered', durationMs: 40 } as const;
    const late = anAttempt({ ...success, startedAt: NOON - 60_000 + 9_000 });
    await record(1, { status: 'delivered', attempts: [anAttempt()], lateResults: [late] });
    // The clocks of two functions differ.
    const early = anAttempt({ ...success, startedAt: NOON - 2 * 60_000 - 500 });
    await record(2, { status: 'delivered', attempts: [early] });
    expect((await list(OF_SUBSCRIPTION)).deliveries).toMatchObject([
      { deliveredAfterMs: 9_040, durationMs: 120 },
      { deliveredAfterMs: 0 },
    ]);
  });

  it('fills each page from the messages of the queue, and goes on through links', async () => {
    const { record, list } = await withSubscription();
    for (let minute = 1; minute <= 60; minute += 1)
      await record(minute, { subscriptionId: minute % 3 === 0 ? 's-1' : 's-2', status: 'delivered' });
    const seen: string[][] = [];
    const until = new Date(NOON - 60_000).toISOString();
    for await (const { deliveries } of pagesFrom(list, `${OF_SUBSCRIPTION}?limit=8&until=${until}`))
      seen.push(deliveries.map(({ messageId }) => messageId));
    expect(seen.flat()).toEqual(Array.from({ length: 20 }, (_, index) => `m-${3 * index + 3}`));
    expect(seen.map((messages) => messages.length)).toEqual([8, 8, 4]);
  });

  it.each([
    [100, 2],
    [5, 4],
  ])('reads a bounded number of messages for a page of up to %i, which may be empty', async (limit, most) => {
    const { record, list } = await withSubscription();
    for (let minute = 1; minute <= 150; minute += 1)
      await record(minute, { subscriptionId: 's-2', status: 'delivered' });
    await record(155, { status: 'delivered' });
    const pages: number[] = [];
    for await (const { deliveries } of pagesFrom(list, `${OF_SUBSCRIPTION}?limit=${limit}`))
      pages.push(deliveries.length);
    expect(pages.slice(0, -1)).toEqual(pages.slice(1).map(() => 0));
    expect(pages).toHaveLength(most);
    expect(pages.at(-1)).toBe(1);
  });

  it('ends with a short page of the listing, which looked through many hours', async () => {
    const { list, dependencies } = await withSubscription();
    let reads = 0;
    dependencies.messageListings.newest = () => {
      reads += 1;
      return Promise.resolve({ items: [], marker: 'next' });
    };
    expect((await list(OF_SUBSCRIPTION)).links).toHaveLength(1);
    expect(reads).toBe(1);
  });

  it('is 404 for an unknown queue or subscription, and reads the records of a deleted one on request', async () => {
    const { call, record, list } = await withSubscription();
    await record(1, { subscriptionId: 's-3', status: 'delivered' });
    for (const path of [
      '/v2/queues/bills/subscriptions/s-1/deliveries',
      OF_SUBSCRIPTION.replace('s-1', 's-3'),
      OF_SUBSCRIPTION.replace('s-1', 'not%20an%20id'),
    ])
      expect(await call('GET', path), path).toMatchObject(refusal('not_found'));
    const { deliveries } = await list(`${OF_SUBSCRIPTION.replace('s-1', 's-3')}?deleted=true`);
    expect(deliveries).toMatchObject([{ messageId: 'm-1', subscriptionId: 's-3' }]);
  });
});

const DETAIL = '/v2/queues/orders/messages/order-7/deliveries/s-1';
const place = { messageId: 'order-7', subscriptionId: 's-1' };

const detailOf = async ({ call }: Pick<Api, 'call'>, path = DETAIL) => {
  const { status, body } = await call('GET', path);
  expect(status).toBe(200);
  return deliveryDetailSchema.strict().parse(body);
};

describe('GET /v2/queues/{queue}/messages/{id}/deliveries/{subscription}', () => {
  it('shows all attempts, the policy and the planned attempts', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7' });
    const policy = aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 });
    const [delivery = aDelivery()] = await recordAll(api, [
      {
        ...place,
        attempts: [anAttempt({ startedAt: NOON, durationMs: 1000 })],
        next: { number: 2, phase: 'pre_backoff', dueAt: NOON + 61_000, by: 'sqs_delay' },
        policy,
      },
    ]);
    expect(await detailOf(api)).toEqual({
      ...deliveryView(delivery),
      policy,
      policySource: 'delivery',
      planned: [
        { number: 2, phase: 'pre_backoff', dueAt: '2026-11-21T12:01:01.000Z' },
        { number: 3, phase: 'pre_backoff', dueAt: '2026-11-21T12:02:01.000Z' },
        { number: 4, phase: 'pre_backoff', dueAt: '2026-11-21T12:03:01.000Z' },
      ],
    });
  });

  it('shows no planned attempts once the delivery has ended', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7' });
    await recordAll(api, [
      { ...place, status: 'delivered', attempts: [anAttempt({ outcome: 'delivered' })] },
    ]);
    expect(await detailOf(api)).toMatchObject({ status: 'delivered', planned: [] });
  });

  it.for([
    ['subscription', { minimum_delay: 7 }, { minimum_delay: 8 }, { minimum_delay: 7 }],
    ['queue', undefined, { minimum_delay: 8 }, { minimum_delay: 8 }],
    [
      'queue',
      { minimum_delay: 7 },
      { minimum_delay: 8, ignore_subscription_override: true },
      { minimum_delay: 8, ignore_subscription_override: true },
    ],
    ['defaults', undefined, undefined, {}],
  ] as const)(
    'shows the policy of the %s if the delivery has none yet',
    async ([source, ofSubscription, ofQueue, expected], { api }) => {
      await api.registry.putQueue(aQueue(ofQueue === undefined ? {} : { retryPolicy: ofQueue }));
      await api.registry.addSubscription(
        aSubscription({
          id: 's-1',
          options: ofSubscription === undefined ? {} : { _retry_policy: ofSubscription },
        }),
      );
      await recordMessage(api, { messageId: 'order-7' });
      await recordAll(api, [{ ...place, status: 'pending' }]);
      const { policy, policySource, planned } = await detailOf(api);
      expect({ policy, policySource }).toEqual({
        policy: { ...DEFAULT_RETRY_POLICY, ...expected },
        policySource: source,
      });
      expect(planned).toHaveLength(20);
      expect(planned[0]).toMatchObject({ number: 1, phase: 'initial' });
    },
  );

  it('shows the default policy if queue and subscription are deleted', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7' });
    await recordAll(api, [{ ...place, status: 'cancelled', reason: 'subscription_deleted' }]);
    expect(await detailOf(api)).toMatchObject({ policySource: 'defaults', planned: [] });
  });

  it('finds the delivery in its bucket', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', buckets: 7 });
    const bucket = bucketOf('s-1', 7);
    expect(bucket).toBeGreaterThan(0);
    const create = aDelivery({ key: aDeliveryKey({ queue: 'orders', ...place, bucket }) });
    await api.deliveries.write({ name: 'open', key: create.key, expect: { kind: 'absent' }, create });
    expect(await detailOf(api)).toMatchObject(place);
  });

  it.for([
    '/v2/queues/orders/messages/order-7/deliveries/s-2',
    '/v2/queues/orders/messages/order-8/deliveries/s-1',
    '/v2/queues/bills/messages/order-7/deliveries/s-1',
    '/v2/queues/orders/messages/order-7/deliveries/a%00b',
  ])('answers 404 to %s', async (path, { api }) => {
    await recordMessage(api, { messageId: 'order-7' });
    await recordAll(api, [place]);
    expect(await api.call('GET', path)).toMatchObject(refusal('not_found'));
  });
});

const LISTINGS = [{ listing: 'books' }, { listing: 'deliveries' }, { listing: 'messages' }];

const linksSchema = z.looseObject({ links: z.array(z.object({ href: z.string() })) });

describe.each(LISTINGS)('$listing of an unknown queue', ({ listing }) => {
  it('are refused, so that a mistyped name does not look like an empty queue', async () => {
    const { call } = await apiWithOrders();
    expect(await call('GET', `/v2/queues/ordres/${listing}`)).toMatchObject(refusal('not_found'));
  });

  it('are listed with deleted=true, page by page', async () => {
    const api = await apiWithOrders();
    for (const [messageId, acceptedAt] of [
      ['one', NOON - 2],
      ['two', NOON - 1],
    ] as const) {
      await recordMessage(api, { messageId, acceptedAt });
      await recordAll(api, [{ messageId, acceptedAt }]);
    }
    expect((await api.call('DELETE', '/v2/queues/orders')).status).toBe(204);
    expect((await api.call('GET', `/v2/queues/orders/${listing}`)).status).toBe(404);
    const limit = listing === 'books' ? '' : '&limit=1';
    let path: string | undefined =
      `/v2/queues/orders/${listing}?deleted=true&since=2026-11-21T11:00:00Z${limit}`;
    let seen = '';
    while (path !== undefined) {
      const { status, body } = await api.call('GET', path);
      expect(status).toBe(200);
      seen += JSON.stringify(body);
      path = linksSchema.parse(body).links[0]?.href;
    }
    if (listing === 'books') expect(seen).toContain('"accepted":2');
    else expect(seen).toMatch(/"two".*"one"/);
  });
});
