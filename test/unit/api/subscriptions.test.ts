import { describe, expect } from 'vitest';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob } from '../../../shared/domain/delivery/job.ts';
import { deliveryView } from '../../../shared/wire/views/shown-delivery.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import { aDelivery, anAttempt, answered, type DeliveryFields } from '../../support/delivery-builders.ts';
import { apiWithOrders, CALLER, HOOK, invalid, it, NOON, refusal, SUBSCRIPTIONS } from './api-test.ts';

describe('GET /v2/queues/{queue}/subscriptions', () => {
  it("lists subscriptions in Zaqar's form, with their age in seconds", async ({ api }) => {
    const options = { _retry_policy: { minimum_delay: 2 }, raw_delivery: true };
    await api.subscribe({ name: 'Billing', ttl: 60, options });
    await api.subscribe({ subscriber: `${HOOK}/2` });
    api.time.now += 2999;
    const common = { source: 'orders', age: 2, confirmed: true };
    expect(await api.get(SUBSCRIPTIONS)).toEqual({
      subscriptions: [
        { id: 'id-1', name: 'Billing', subscriber: HOOK, ttl: 60, options, ...common },
        { id: 'id-2', subscriber: `${HOOK}/2`, ttl: null, options: {}, ...common },
      ],
      links: [],
    });
  });

  it('leaves out expired subscriptions, and is empty without others', async ({ get, subscribe, time }) => {
    await subscribe({ ttl: 60 });
    time.now += 60_000;
    expect(await get(SUBSCRIPTIONS)).toEqual({ subscriptions: [], links: [] });
  });

  const NAMED = { name: 'EU & US' };

  it.for([
    ['match=id-4', ['id-4']],
    ['limit=1&match=US', ['id-2', 'id-3', 'id-4']],
    [`limit=1&match=${encodeURIComponent('EU & US')}`, ['id-2']],
    ['match=us', []],
  ] as const)(
    'finds them by the start of the id, or a part of the name or URL: %s',
    async ([query, ids], { api }) => {
      for (const [path, named] of Object.entries({ a: {}, b: NAMED, c: { name: 'US' }, 'd?x=US': {} }))
        await api.subscribe({ subscriber: `${HOOK}/${path}`, ...named });
      expect((await api.pages(`${SUBSCRIPTIONS}?${query}`, 'subscriptions', 'id')).flat()).toEqual(ids);
    },
  );

  it("refuses another queue's marker", async ({ call, nextOf }) => {
    for (const path of ['orders/a', 'orders/b', 'bills/a', 'bills/b'])
      await call('POST', `/v2/queues/${path.slice(0, -2)}/subscriptions`, { subscriber: `${HOOK}/${path}` });
    const next = await nextOf('/v2/queues/bills/subscriptions?limit=1');
    expect(await call('GET', next.replace('bills', 'orders'))).toMatchObject(invalid('marker'));
  });
});

const TEST = `${SUBSCRIPTIONS}/subscription-1/test`;

const anAttempted = (job: DeliveryJob, more: DeliveryFields = {}): Delivery =>
  aDelivery({
    key: job.key,
    acceptedAt: job.acceptedAt,
    status: 'delivered',
    attempts: [anAttempt({ outcome: 'delivered', result: answered(200), startedAt: NOON })],
    ...more,
  });

/** The API with a subscription. `deliveryOf`: the record of the first job after that time. */
const apiWithDelivery = async (
  deliveryOf: (job: DeliveryJob, waitedMs: number) => Delivery | undefined = (job) => anAttempted(job),
  subscription: Parameters<typeof aSubscription>[0] = {},
) => {
  const api = await apiWithOrders();
  const { jobs, time } = api;
  api.dependencies.deliveries.find = () => Promise.resolve(jobs[0] && deliveryOf(jobs[0], time.now - NOON));
  await addSubscription(api.registry, aSubscription(subscription));
  return { ...api, test: (body?: unknown) => api.call('POST', TEST, body) };
};

describe('POST /v2/queues/{queue}/subscriptions/{id}/test', () => {
  it('sends a message to this subscription only, and shows the delivery', async () => {
    const { test, jobs, messageRecords, published } = await apiWithDelivery();
    const answer = await test();

    const [job] = jobs;
    if (job === undefined) throw new Error('No job was sent');
    expect(answer).toMatchObject({ status: 200, body: { delivery: deliveryView(anAttempted(job)) } });
    const message = { type: 'posthaste.test', data: '{"test":true}', timestamp: '2026-11-21T12:00:00.000Z' };
    const key = { queue: 'orders', subscriptionId: 'subscription-1', bucket: 0 };
    expect(jobs).toMatchObject([{ kind: 'job', key, body: { kind: 'inline', message } }]);
    expect(await messageRecords.find(job.key)).toMatchObject({ matched: 1, type: 'posthaste.test' });
    expect(published).toEqual([]);
  });

  it('accepts a type, and passes on data byte for byte', async () => {
    const { test, jobs } = await apiWithDelivery();
    await test('{"type": "order.created", "data": {"b": 12345678901234567890, "a": 1.0}}');
    expect(jobs).toMatchObject([
      { body: { message: { type: 'order.created', data: '{"b": 12345678901234567890, "a": 1.0}' } } },
    ]);
  });

  it('sends each test with a unique id', async () => {
    const { test, jobs } = await apiWithDelivery();
    await test();
    await test({});
    expect(new Set(jobs.map(({ key }) => key.messageId)).size).toBe(2);
  });

  it('ignores the event types and the filter', async () => {
    const options = { event_types: ['other'], filter: { never: [1] } };
    const { test } = await apiWithDelivery(undefined, { options });
    expect(await test()).toMatchObject({ status: 200 });
  });

  const AFTER_RETRY = '2026-11-21T12:00:01.000Z';
  const pulled = { number: 1, phase: 'initial', dueAt: NOON, by: 'pull' } as const;
  const retry = { number: 2, phase: 'immediate', dueAt: NOON + 1000, by: 'sqs_delay' } as const;
  const deleted = { status: 'cancelled', reason: 'subscription_deleted', attempts: [] } as const;

  const waiting = { status: 'pending', attempts: [], next: pulled } as const;

  it.each<[string, DeliveryFields, object, number]>([
    ['a failed attempt', { status: 'retrying', next: retry }, { nextAttemptAt: AFTER_RETRY }, 200],
    ['a delivery that ended without an attempt', deleted, deleted, 200],
    ['a pull subscription', waiting, { status: 'pending' }, 202],
  ])('shows %s without further waiting', async (_what, fields, delivery, status) => {
    const { test, time } = await apiWithDelivery((job) => anAttempted(job, fields));
    expect(await test()).toMatchObject({ status, body: { delivery } });
    expect(time.waits).toEqual([]);
  });

  it('polls for the first attempt with increasing intervals', async () => {
    const underWay = (job: DeliveryJob, waitedMs: number) =>
      waitedMs < 2000 ? anAttempted(job, { status: 'pending', attempts: [] }) : anAttempted(job);
    const { test, time } = await apiWithDelivery(underWay);
    expect(await test()).toMatchObject({ status: 200 });
    expect(time.waits).toEqual([250, 375, 562.5, 843.75]);
  });

  it.each<[string, (job: DeliveryJob) => Delivery | undefined]>([
    ['its job is still in the queue', () => undefined],
    ['its attempt is in flight', (job) => anAttempted(job, { status: 'pending', attempts: [] })],
  ])('answers 202 after 3 s if %s', async (_what, deliveryOf) => {
    const { test, time, changes } = await apiWithDelivery(deliveryOf);
    const delivery = { subscriptionId: 'subscription-1', status: 'pending', attempts: [], policy: null };
    expect(await test()).toMatchObject({ status: 202, body: { delivery } });
    expect(time.waits.reduce((sum, wait) => sum + wait, 0)).toBe(3_000);
    expect(changes).toHaveLength(1);
  });

  it('is on the audit trail, with the ids and without the data', async () => {
    const { test, changes, jobs } = await apiWithDelivery();
    await test({ data: 's3cret' });
    const tested = { change: 'subscription_tested', queue: 'orders', subscriptionId: 'subscription-1' };
    expect(changes).toEqual([{ ...CALLER, ...tested, messageId: jobs[0]?.key.messageId }]);
  });
});

describe('a test of a subscription refuses', () => {
  it.each<[string, unknown, string]>([
    ['a list', [], 'body'],
    ['an unknown key', { id: 'mine' }, 'id'],
    ['a type that is not text', { type: 7 }, 'type'],
    ['a type of null', { type: null }, 'type'],
    ['an empty type', { type: '' }, 'type'],
    ['a type too long', { type: 'x'.repeat(257) }, 'type'],
    ['a control character in a type', { type: 'a\u0000' }, 'type'],
    ['data that SQS would refuse', { data: '\uFFFE' }, 'data'],
  ])('%s', async (_what, body, field) => {
    const { test, jobs, changes } = await apiWithDelivery();
    expect(await test(body)).toMatchObject(invalid(field));
    expect({ jobs, changes }).toEqual({ jobs: [], changes: [] });
  });

  it.each<[string, Parameters<typeof aSubscription>[0]]>([
    ['disabled', { disabled: { reason: 'manual', at: 1 } }],
    ['unconfirmed', { unconfirmed: { tokenHash: 'x', at: 1 } }],
  ])('a subscription that is %s', async (_what, subscription) => {
    const { test, jobs, changes } = await apiWithDelivery(undefined, subscription);
    expect(await test()).toMatchObject(refusal('conflict'));
    expect({ jobs, changes }).toEqual({ jobs: [], changes: [] });
  });
});
