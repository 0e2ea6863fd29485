import { describe, expect } from 'vitest';
import * as z from 'zod';
import { hashToBucket } from '../../../shared/domain/delivery/fan-out.ts';
import { toMessageId } from '../../../shared/domain/message/message.ts';
import { DEFAULT_RETRY_POLICY, type PartialRetryPolicy } from '../../../shared/domain/retry/policy.ts';
import { deliveryDetailSchema, subscriptionDeliverySchema } from '../../../shared/wire/views/delivery.ts';
import { deliveryView } from '../../../shared/wire/views/shown-delivery.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aBarePolicy, aQueue, aSubscription } from '../../support/builders.ts';
import { aDelivery, anAttempt, answered } from '../../support/delivery-builders.ts';
import {
  type Api,
  apiUnderTest,
  apiWithOrders,
  invalid,
  itWithOrders as it,
  NOON,
  QUEUE,
  recordAll,
  recordMessage,
  refusal,
} from './api-test.ts';

const PATH = `${QUEUE}/deliveries`;
const MINUTE = 60_000;

describe('GET /v2/queues/{queue}/deliveries', () => {
  it('lists deliveries that are not delivered, newest first', async ({ api }) => {
    const cancelled = {
      messageId: 'new',
      subscriptionId: 's-2',
      status: 'cancelled',
      reason: 'disabled',
    } as const;
    const retrying = { messageId: 'old', subscriptionId: 's-1', status: 'retrying' } as const;
    const attempts = [
      anAttempt({ startedAt: NOON + 1, result: answered(503, 'not shown') }),
      anAttempt({ number: 2, startedAt: NOON + 2, result: { kind: 'unanswered', error: 'timeout' } }),
    ];
    const next = { number: 3, phase: 'immediate', dueAt: NOON + 9, by: 'sqs_delay' } as const;
    await recordAll(api, [
      { ...retrying, attempts, next },
      { ...cancelled, acceptedAt: NOON + MINUTE },
      { messageId: 'delivered', status: 'delivered' },
      { messageId: 'pending', status: 'pending' },
    ]);
    const lastAttempt = {
      number: 2,
      startedAt: '2026-11-21T12:00:00.002Z',
      outcome: 'failed',
      error: 'timeout',
    };
    expect(await api.get(PATH)).toEqual({
      deliveries: [
        { queue: 'orders', ...cancelled, acceptedAt: '2026-11-21T12:01:00.000Z', attemptCount: 0 },
        {
          queue: 'orders',
          ...retrying,
          acceptedAt: '2026-11-21T12:00:00.000Z',
          attemptCount: 2,
          lastAttempt,
          nextAttemptAt: '2026-11-21T12:00:00.009Z',
        },
      ],
      links: [],
    });
  });

  it('includes deliveries that wait for a rate limit', async ({ api }) => {
    const next = { number: 1, phase: 'initial', dueAt: NOON + 9, by: 'sqs_delay' } as const;
    const slot = { at: NOON + MINUTE, epoch: 'e' };
    await recordAll(api, [{ messageId: 'waiting', status: 'pending', next, slot }]);
    const waiting = { messageId: 'waiting', nextAttemptAt: '2026-11-21T12:01:00.000Z' };
    for (const path of [PATH, `${PATH}?status=pending`])
      expect(await api.get(path)).toMatchObject({ deliveries: [waiting] });
  });

  it('pages through all deliveries by links that keep the selection', async ({ api }) => {
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
    const selection = `status=rejected&subscription=even&since=2026-11-21T12:04:00Z&until=${until}`;
    const idsAt = (query: string) => api.pages(`${PATH}?${query}`, 'deliveries', 'messageId');
    expect(await idsAt(`${selection}&limit=2`)).toEqual([['m-12', 'm-10'], ['m-08', 'm-06'], ['m-04']]);
    expect((await idsAt('')).map((one) => one.length)).toEqual([10, 10, 5]);
    expect((await idsAt('limit=100')).map((one) => one.length)).toEqual([25]);
  });

  it('leaves out listed deliveries that no longer match or no longer exist', async ({ api }) => {
    const recorded = await recordAll(api, [
      { messageId: 'ended' },
      { messageId: 'delivered' },
      { messageId: 'gone' },
    ]);
    const stale = recorded.map(({ key, status }) => ({ key, acceptedAt: NOON, status }));
    const ends = [{ status: 'exhausted', reason: 'retries_exhausted' }, { status: 'delivered' }] as const;
    for (const [index, end] of ends.entries()) {
      const change = { ...end, updatedAt: NOON, expiresAt: NOON };
      const { key } = stale[index] ?? aDelivery();
      await api.deliveries.write({ name: 'record', key, expect: { kind: 'present' }, change });
    }
    const { deliveryListings } = api.dependencies;
    const records = deliveryListings.records.bind(deliveryListings);
    deliveryListings.newest = () => Promise.resolve({ items: stale });
    deliveryListings.records = (keys) => records(keys.filter(({ messageId }) => messageId !== 'gone'));
    expect(await api.pages(PATH, 'deliveries', 'messageId')).toEqual([['ended']]);
    expect(await api.pages(`${PATH}?status=retrying`, 'deliveries', 'messageId')).toEqual([[]]);
  });

  it('accepts times in lower case and with nanoseconds', async ({ get }) => {
    expect(await get(`${PATH}?since=2026-11-21t12:00:00.123456789z`)).toEqual({ deliveries: [], links: [] });
  });

  it('refuses the marker of another selection', async ({ api }) => {
    await recordAll(api, [{}, {}, {}]);
    const marker = /marker=[^&]+/.exec(await api.nextOf(`${PATH}?limit=1`))?.[0] ?? '';
    for (const query of ['status=retrying', 'since=2026-11-21T12:00:00Z'])
      expect(await api.call('GET', `${PATH}?${query}&${marker}`)).toMatchObject(invalid('marker'));
    const elsewhere = `/v2/queues/bills/deliveries?deleted=true&${marker}`;
    expect(await api.call('GET', elsewhere)).toMatchObject({ status: 400 });
  });
});

const MESSAGES = `${QUEUE}/messages`;
const OF_MESSAGE = `${MESSAGES}/order-7/deliveries`;

describe('GET /v2/queues/{queue}/messages/{id}/deliveries', () => {
  const ofSubscription = (subscriptionId: string, bucket: number) => ({
    messageId: 'order-7',
    subscriptionId,
    bucket,
    attempts: [anAttempt({ startedAt: NOON })],
    lease: { owner: 'internal', until: NOON },
  });

  it('is empty until the first delivery is recorded', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7' });
    expect(await api.get(OF_MESSAGE)).toEqual({ deliveries: [], links: [] });
  });

  it('shows the deliveries of all buckets, without internal fields', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', buckets: 2 });
    const recorded = await recordAll(api, [ofSubscription('one', 0), ofSubscription('two', 1)]);
    const body = await api.get(OF_MESSAGE);
    expect(body).toEqual({ deliveries: recorded.map(deliveryView), links: [] });
    expect(JSON.stringify(body)).not.toContain('internal');
  });

  it('pages through all deliveries by links, each once', async ({ api }) => {
    await recordMessage(api, { messageId: 'order-7', buckets: 2 });
    await recordAll(
      api,
      ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((id, index) => ofSubscription(id, index % 2)),
    );
    const pages = await api.pages(`${OF_MESSAGE}?limit=3`, 'deliveries', 'subscriptionId');
    expect(pages.flat().join('')).toBe('acegbdf');
    expect(Math.max(...pages.map(({ length }) => length))).toBe(3);
  });

  it("accepts the producer's message id", async ({ api }) => {
    await recordMessage(api, { messageId: toMessageId({ id: 'order 7 ü' }).id });
    await api.get(`${MESSAGES}/${encodeURIComponent('order 7 ü')}/deliveries`);
  });
});

const page = z.object({
  deliveries: z.array(subscriptionDeliverySchema.strict()),
  links: z.array(z.unknown()),
});

const OF_SUBSCRIPTION = '/v2/queues/orders/subscriptions/s-1/deliveries';

describe('GET /v2/queues/{queue}/subscriptions/{subscription}/deliveries', () => {
  it.override('api', async () => {
    const api = await apiWithOrders();
    await addSubscription(api.registry, aSubscription({ queue: 'orders', id: 's-1' }));
    return api;
  });

  /** Records the message `m-<minute>`, accepted so many minutes before noon, with its delivery to a subscription. */
  const record = async (
    api: Api,
    minute: number,
    { type, ...delivery }: Parameters<typeof recordAll>[1][number] & { type?: string },
  ): Promise<void> => {
    const of = { messageId: `m-${minute}`, acceptedAt: NOON - minute * MINUTE };
    await recordMessage(api, { ...of, ...(type !== undefined && { type }) });
    await recordAll(api, [{ subscriptionId: 's-1', ...of, ...delivery }]);
  };

  const listed = async (api: Api) => page.parse(await api.get(OF_SUBSCRIPTION));

  it('lists all deliveries of the last 24 hours, newest message first, with their times', async ({ api }) => {
    await record(api, 1, { status: 'pending', attempts: [] });
    await record(api, 24 * 60 + 1, { status: 'delivered' });
    await record(api, 2, { subscriptionId: 's-2', status: 'delivered' });
    const at = NOON - 3 * 60_000;
    const success = { number: 2, outcome: 'delivered', result: answered(200), durationMs: 30 } as const;
    const attempts = [anAttempt({ startedAt: at }), anAttempt({ ...success, startedAt: at + 5_000 })];
    await record(api, 3, { type: 'order.created', status: 'delivered', attempts });
    await record(api, 4, { status: 'exhausted', reason: 'retries_exhausted', attempts: [anAttempt()] });
    const { deliveries, links } = await listed(api);
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

  it('measures a success that came after its lease was lost, and never below zero', async ({ api }) => {
    const success = { outcome: 'delivered', durationMs: 40 } as const;
    const late = anAttempt({ ...success, startedAt: NOON - 60_000 + 9_000 });
    await record(api, 1, { status: 'delivered', attempts: [anAttempt()], lateResults: [late] });
    // The clocks of two functions differ.
    const early = anAttempt({ ...success, startedAt: NOON - 2 * 60_000 - 500 });
    await record(api, 2, { status: 'delivered', attempts: [early] });
    expect((await listed(api)).deliveries).toMatchObject([
      { deliveredAfterMs: 9_040, durationMs: 120 },
      { deliveredAfterMs: 0 },
    ]);
  });

  it('fills each page from the messages of the queue, and goes on through links', async ({ api }) => {
    for (let minute = 1; minute <= 60; minute += 1)
      await record(api, minute, { subscriptionId: minute % 3 === 0 ? 's-1' : 's-2', status: 'delivered' });
    const until = new Date(NOON - MINUTE).toISOString();
    const path = `${OF_SUBSCRIPTION}?limit=8&until=${until}`;
    const pages = await api.pages(path, 'deliveries', 'messageId');
    expect(pages.flat()).toEqual(Array.from({ length: 20 }, (_, index) => `m-${3 * index + 3}`));
    expect(pages.map(({ length }) => length)).toEqual([8, 8, 4]);
  });

  it.for([
    { limit: 100, sizes: [0, 1] },
    { limit: 5, sizes: [0, 0, 0, 1] },
  ])('reads a bounded number of messages for a page of up to $limit', async ({ limit, sizes }, { api }) => {
    for (let minute = 1; minute <= 150; minute += 1)
      await record(api, minute, { subscriptionId: 's-2', status: 'delivered' });
    await record(api, 155, { status: 'delivered' });
    const pages = await api.pages(`${OF_SUBSCRIPTION}?limit=${limit}`, 'deliveries', 'messageId');
    expect(pages.map(({ length }) => length)).toEqual(sizes);
  });

  it('ends with a short page of the listing, which looked through many hours', async ({ api }) => {
    let reads = 0;
    api.dependencies.messageListings.newest = () => {
      reads += 1;
      return Promise.resolve({ items: [], marker: 'next' });
    };
    expect((await listed(api)).links).toHaveLength(1);
    expect(reads).toBe(1);
  });

  it('is 404 for an unknown subscription, and shows that of a deleted one on request', async ({ api }) => {
    await record(api, 1, { subscriptionId: 's-3', status: 'delivered' });
    const path = OF_SUBSCRIPTION.replace('s-1', 's-3');
    expect(await api.call('GET', path)).toMatchObject(refusal('not_found'));
    expect(await api.pages(`${path}?deleted=true`, 'deliveries', 'messageId')).toEqual([['m-1']]);
  });
});

const DETAIL = '/v2/queues/orders/messages/order-7/deliveries/s-1';
const place = { messageId: 'order-7', subscriptionId: 's-1' };

const detailOf = async ({ get }: Api) => deliveryDetailSchema.strict().parse(await get(DETAIL));

describe('GET /v2/queues/{queue}/messages/{id}/deliveries/{subscription}', () => {
  it.override('api', async () => {
    const api = apiUnderTest();
    await recordMessage(api, { messageId: 'order-7', buckets: 7 });
    return api;
  });
  const of = { ...place, bucket: hashToBucket('s-1', 7) };

  it('shows all attempts, the policy and the planned attempts', async ({ api }) => {
    const policy = aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 });
    const next = { number: 2, phase: 'pre_backoff', dueAt: NOON + 61_000, by: 'sqs_delay' } as const;
    const attempts = [anAttempt({ startedAt: NOON, durationMs: 1000 })];
    const [delivery = aDelivery()] = await recordAll(api, [{ ...of, attempts, next, policy }]);
    const planned = ['2026-11-21T12:01:01.000Z', '2026-11-21T12:02:01.000Z', '2026-11-21T12:03:01.000Z'];
    expect(await detailOf(api)).toEqual({
      ...deliveryView(delivery),
      policy,
      policySource: 'delivery',
      planned: planned.map((dueAt, index) => ({ number: 2 + index, phase: 'pre_backoff', dueAt })),
    });
  });

  it('shows no planned attempt from the end of the ttl of its message on', async ({ api }) => {
    const accepted = { digest: 'a', timestamp: '2026-11-21T12:00:00.000Z', expiresAt: NOON + 120_000 };
    const expiring = { ...of, messageId: 'order-8' };
    await recordMessage(api, { messageId: 'order-8', buckets: 7, accepted });
    const policy = aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 });
    const next = { number: 2, phase: 'pre_backoff', dueAt: NOON + 60_000, by: 'sqs_delay' } as const;
    const attempts = [anAttempt({ startedAt: NOON, durationMs: 0 })];
    await recordAll(api, [{ ...expiring, attempts, next, policy }]);
    const shown = deliveryDetailSchema.parse(await api.get(DETAIL.replace('order-7', 'order-8')));
    expect(shown.planned.map(({ number }) => number)).toEqual([2]);
  });

  it('shows no planned attempts once the delivery has ended', async ({ api }) => {
    await recordAll(api, [{ ...of, status: 'delivered', attempts: [anAttempt({ outcome: 'delivered' })] }]);
    expect(await detailOf(api)).toMatchObject({ status: 'delivered', planned: [] });
  });

  const ignoring = { minimum_delay: 8, ignore_subscription_override: true };

  it.for<[string, ...(PartialRetryPolicy | undefined)[]]>([
    ['subscription', { minimum_delay: 7 }, { minimum_delay: 8 }, { minimum_delay: 7 }],
    ['queue', undefined, { minimum_delay: 8 }, { minimum_delay: 8 }],
    ['queue', { minimum_delay: 7 }, ignoring, ignoring],
    ['defaults'],
  ])('shows the policy of the %s if the delivery has none yet', async (row, { api }) => {
    const [policySource, ofSubscription, ofQueue, expected] = row;
    await api.registry.putQueue(aQueue(ofQueue && { retryPolicy: ofQueue }));
    const options = ofSubscription === undefined ? {} : { _retry_policy: ofSubscription };
    await addSubscription(api.registry, aSubscription({ id: 's-1', options }));
    await recordAll(api, [{ ...of, status: 'pending' }]);
    const { planned, ...shown } = await detailOf(api);
    expect(shown).toMatchObject({ policySource, policy: { ...DEFAULT_RETRY_POLICY, ...expected } });
    expect(planned).toHaveLength(20);
    expect(planned[0]).toMatchObject({ number: 1, phase: 'initial' });
  });

  it('shows the default policy if queue and subscription are deleted', async ({ api }) => {
    await recordAll(api, [{ ...of, status: 'cancelled', reason: 'subscription_deleted' }]);
    expect(await detailOf(api)).toMatchObject({ policySource: 'defaults', planned: [] });
  });

  it.for([
    DETAIL.replace('s-1', 's-2'),
    DETAIL.replace('order-7', 'order-8'),
    DETAIL.replace('orders', 'bills'),
  ])('answers 404 to %s', async (path, { api }) => {
    await recordAll(api, [of]);
    expect(await api.call('GET', path)).toMatchObject(refusal('not_found'));
  });
});

describe.each(['books', 'deliveries', 'messages'])('the %s of a deleted queue', (listing) => {
  it('are refused as of an unknown one, and listed with deleted=true, page by page', async ({ api }) => {
    for (const of of [
      { messageId: 'one', acceptedAt: NOON - 2 },
      { messageId: 'two', acceptedAt: NOON - 1 },
    ]) {
      await recordMessage(api, of);
      await recordAll(api, [of]);
    }
    expect((await api.call('DELETE', QUEUE)).status).toBe(204);
    expect(await api.call('GET', `${QUEUE}/${listing}`)).toMatchObject(refusal('not_found'));
    const path = `${QUEUE}/${listing}?deleted=true&since=2026-11-21T11:00:00Z`;
    if (listing === 'books') expect(await api.get(path)).toMatchObject({ books: { accepted: 2 } });
    else {
      const id = listing === 'messages' ? 'id' : 'messageId';
      expect(await api.pages(`${path}&limit=1`, listing, id)).toEqual([['two'], ['one']]);
    }
  });
});
