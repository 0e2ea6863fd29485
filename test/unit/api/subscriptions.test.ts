import { describe, expect } from 'vitest';
import type { ApiDependencies } from '../../../functions/api/dependencies.ts';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob } from '../../../shared/domain/delivery/job.ts';
import { deliveryView } from '../../../shared/wire/views/delivery.ts';
import { aSubscription } from '../../support/builders.ts';
import { aDelivery, anAttempt, answered, type DeliveryFields } from '../../support/delivery-builders.ts';
import {
  apiUnderTest,
  CALLER,
  faultOf,
  HOOK,
  invalid,
  it,
  NOON,
  refusal,
  SUBSCRIPTIONS,
} from './api-under-test.ts';

describe('GET /v2/queues/{queue}/subscriptions', () => {
  it('answers with an empty list if there are no subscriptions', async ({ call }) => {
    await call('PUT', '/v2/queues/orders', {});
    expect(await call('GET', SUBSCRIPTIONS)).toMatchObject({
      status: 200,
      body: { subscriptions: [], links: [] },
    });
  });

  it('answers 404 for an unknown queue', async ({ call }) => {
    expect(await call('GET', SUBSCRIPTIONS)).toMatchObject(refusal('not_found'));
  });

  it("lists subscriptions in Zaqar's form, with their age in seconds", async ({ call, time }) => {
    const options = { _retry_policy: { minimum_delay: 2 }, raw_delivery: true };
    await call('POST', SUBSCRIPTIONS, { name: 'Billing', subscriber: HOOK, ttl: 60, options });
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2` });
    time.now += 2999;
    expect((await call('GET', SUBSCRIPTIONS)).body).toEqual({
      subscriptions: [
        {
          id: 'id-1',
          source: 'orders',
          name: 'Billing',
          subscriber: HOOK,
          ttl: 60,
          age: 2,
          options,
          confirmed: true,
        },
        {
          id: 'id-2',
          source: 'orders',
          subscriber: `${HOOK}/2`,
          ttl: null,
          age: 2,
          options: {},
          confirmed: true,
        },
      ],
      links: [],
    });
  });

  it('leaves out expired subscriptions', async ({ call, time }) => {
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, ttl: 60 });
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2` });
    time.now += 60_000;
    expect((await call('GET', SUBSCRIPTIONS)).body).toMatchObject({ subscriptions: [{ id: 'id-2' }] });
  });

  it('shows why and since when a subscription is disabled', async ({ call, registry }) => {
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    await registry.disable('orders', 'id-1', { reason: 'gone', at: NOON });
    expect((await call('GET', SUBSCRIPTIONS)).body).toMatchObject({
      subscriptions: [{ id: 'id-1', disabled: { reason: 'gone', at: '2026-11-21T12:00:00.000Z' } }],
    });
  });

  it('finds subscriptions by the start of the id, or a part of the name or URL', async ({ api }) => {
    const { call } = api;
    for (const [path, name] of [
      ['a', undefined],
      ['b', 'EU & US'],
      ['c', 'US'],
      ['d?x=US', undefined],
    ])
      await call('POST', SUBSCRIPTIONS, {
        subscriber: `${HOOK}/${path}`,
        ...(name !== undefined && { name }),
      });
    const idsAt = async (path: string): Promise<string[]> => {
      const { body } = await call('GET', path);
      const page = body as { subscriptions: { id: string }[]; links: { href: string }[] };
      const ids = page.subscriptions.map(({ id }) => id);
      const next = page.links[0]?.href;
      return next === undefined ? ids : [...ids, ...(await idsAt(next))];
    };
    expect(await idsAt(`${SUBSCRIPTIONS}?match=id-4`)).toEqual(['id-4']);
    expect(await idsAt(`${SUBSCRIPTIONS}?limit=1&match=US`)).toEqual(['id-2', 'id-3', 'id-4']);
    expect(await idsAt(`${SUBSCRIPTIONS}?limit=1&match=${encodeURIComponent('EU & US')}`)).toEqual(['id-2']);
    expect(await idsAt(`${SUBSCRIPTIONS}?match=us`)).toEqual([]);
  });

  it("refuses another queue's marker", async ({ call }) => {
    for (const queue of ['orders', 'bills']) {
      for (const path of ['a', 'b']) {
        await call('POST', `/v2/queues/${queue}/subscriptions`, { subscriber: `${HOOK}/${path}` });
      }
    }
    const { body } = await call('GET', '/v2/queues/bills/subscriptions?limit=1');
    const [link] = (body as { links: { href: string }[] }).links;
    expect(await call('GET', link?.href.replace('bills', 'orders') ?? '')).toMatchObject(invalid('marker'));
  });
});

describe('GET /v2/queues/{queue}/subscriptions/{id}', () => {
  it('shows one subscription', async ({ call }) => {
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, ttl: 60 });
    expect(await call('GET', `${SUBSCRIPTIONS}/id-1`)).toMatchObject({
      status: 200,
      body: { id: 'id-1', source: 'orders', subscriber: HOOK, ttl: 60, age: 0, options: {} },
    });
  });

  it.for(['id-2', 'not%20an%20id', 'x'.repeat(2000)])('answers 404 for %s', async (id, { call }) => {
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    expect(await call('GET', `${SUBSCRIPTIONS}/${id}`)).toMatchObject(refusal('not_found'));
  });

  it("answers 404 for another queue's subscription, and for an expired one", async ({ call, time }) => {
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK, ttl: 60 });
    await call('PUT', '/v2/queues/bills', {});
    expect(await call('GET', '/v2/queues/bills/subscriptions/id-1')).toMatchObject({ status: 404 });
    time.now += 59_999;
    expect(await call('GET', `${SUBSCRIPTIONS}/id-1`)).toMatchObject({ status: 200 });
    time.now += 1;
    expect(await call('GET', `${SUBSCRIPTIONS}/id-1`)).toMatchObject({ status: 404 });
  });
});

describe('DELETE /v2/queues/{queue}/subscriptions/{id}', () => {
  it('deletes only this subscription', async ({ call }) => {
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2` });
    expect(await call('DELETE', `${SUBSCRIPTIONS}/id-1`)).toMatchObject({ status: 204, body: undefined });
    expect((await call('GET', SUBSCRIPTIONS)).body).toMatchObject({ subscriptions: [{ id: 'id-2' }] });
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

/** The API with a clock that advances while it sleeps. `deliveryOf`: the record of a job after that time. */
const apiWithDelivery = async (
  deliveryOf: (job: DeliveryJob, waitedMs: number) => Delivery | undefined,
  subscription: Parameters<typeof aSubscription>[0] = {},
) => {
  let now = NOON;
  const waits: number[] = [];
  const jobs: DeliveryJob[] = [];
  const clock: ApiDependencies['clock'] = {
    now: () => now,
    sleep: (milliseconds) => {
      waits.push(milliseconds);
      now += milliseconds;
      return Promise.resolve();
    },
  };
  const { deliveries } = apiUnderTest().dependencies;
  const api = apiUnderTest({
    clock,
    deliveries: {
      ...deliveries,
      find: () => Promise.resolve(jobs[0] && deliveryOf(jobs[0], now - NOON)),
    },
    deliveryQueue: {
      send: (sent) => {
        jobs.push(...sent);
        return Promise.resolve();
      },
    },
  });
  await api.registry.ensureQueue({ name: 'orders', metadata: {}, createdAt: NOON });
  await api.registry.addSubscription(aSubscription(subscription));
  return { ...api, jobs, waits };
};

describe('POST /v2/queues/{queue}/subscriptions/{id}/test', () => {
  it('sends a message to this subscription only, and shows the delivery', async () => {
    const { call, jobs, messageRecords, published } = await apiWithDelivery((job) => anAttempted(job));
    const answer = await call('POST', TEST);

    const [job] = jobs;
    if (job === undefined) throw new Error('No job was sent');
    expect(answer).toMatchObject({ status: 200, body: { delivery: deliveryView(anAttempted(job)) } });
    expect(jobs).toMatchObject([
      {
        kind: 'job',
        key: { queue: 'orders', subscriptionId: 'subscription-1', bucket: 0 },
        body: {
          kind: 'inline',
          message: { type: 'posthaste.test', data: '{"test":true}', timestamp: '2026-11-21T12:00:00.000Z' },
        },
      },
    ]);
    expect(await messageRecords.find(job.key)).toMatchObject({
      matched: 1,
      filtered: 0,
      duplicates: 0,
      type: 'posthaste.test',
    });
    expect(published).toEqual([]);
  });

  it('accepts a type, and passes on data byte for byte', async () => {
    const { call, jobs } = await apiWithDelivery((job) => anAttempted(job));
    await call('POST', TEST, '{"type": "order.created", "data": {"b": 12345678901234567890, "a": 1.0}}');
    expect(jobs).toMatchObject([
      { body: { message: { type: 'order.created', data: '{"b": 12345678901234567890, "a": 1.0}' } } },
    ]);
  });

  it('sends each test with a unique id', async () => {
    const { call, jobs } = await apiWithDelivery((job) => anAttempted(job));
    await call('POST', TEST);
    await call('POST', TEST, {});
    expect(new Set(jobs.map(({ key }) => key.messageId)).size).toBe(2);
  });

  it('does not wait for the subscriber of a pull subscription', async () => {
    const next = { number: 1, phase: 'initial', dueAt: NOON, by: 'pull' } as const;
    const { call, waits } = await apiWithDelivery((job) =>
      anAttempted(job, { status: 'pending', attempts: [], next }),
    );
    expect(await call('POST', TEST)).toMatchObject({
      status: 202,
      body: { delivery: { status: 'pending' } },
    });
    expect(waits).toEqual([]);
  });

  it('ignores the event types and the filter', async () => {
    const { call } = await apiWithDelivery((job) => anAttempted(job), {
      options: { event_types: ['other'], filter: { never: [1] } },
    });
    expect(await call('POST', TEST)).toMatchObject({ status: 200 });
  });

  it('shows a failed attempt, after which retries continue', async () => {
    const failed = (job: DeliveryJob) =>
      anAttempted(job, {
        status: 'retrying',
        next: { number: 2, phase: 'immediate', dueAt: NOON + 1000, by: 'sqs_delay' },
      });
    const { call } = await apiWithDelivery(failed);
    expect(await call('POST', TEST)).toMatchObject({
      status: 200,
      body: { delivery: { status: 'retrying', nextAttemptAt: '2026-11-21T12:00:01.000Z' } },
    });
  });

  it('shows a delivery that ended without an attempt', async () => {
    const cancelled = (job: DeliveryJob) =>
      anAttempted(job, { status: 'cancelled', reason: 'subscription_deleted', attempts: [] });
    const { call } = await apiWithDelivery(cancelled);
    expect(await call('POST', TEST)).toMatchObject({
      status: 200,
      body: { delivery: { status: 'cancelled', reason: 'subscription_deleted', attempts: [] } },
    });
  });

  it('polls for the first attempt with increasing intervals', async () => {
    const underWay = (job: DeliveryJob, waitedMs: number) =>
      waitedMs < 2000 ? anAttempted(job, { status: 'pending', attempts: [] }) : anAttempted(job);
    const { call, waits } = await apiWithDelivery(underWay);
    expect(await call('POST', TEST)).toMatchObject({ status: 200 });
    expect(waits).toEqual([250, 375, 562.5, 843.75]);
  });

  it.each<[string, (job: DeliveryJob) => Delivery | undefined]>([
    ['its job is still in the queue', () => undefined],
    ['its attempt is in flight', (job) => anAttempted(job, { status: 'pending', attempts: [] })],
  ])('answers 202 after 3 s if %s', async (_what, deliveryOf) => {
    const { call, waits, changes } = await apiWithDelivery(deliveryOf);
    expect(await call('POST', TEST)).toMatchObject({
      status: 202,
      body: {
        delivery: {
          queue: 'orders',
          subscriptionId: 'subscription-1',
          status: 'pending',
          attempts: [],
          policy: null,
        },
      },
    });
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBe(3_000);
    expect(changes).toHaveLength(1);
  });

  it('is on the audit trail, with the ids and without the data', async () => {
    const { call, changes, jobs } = await apiWithDelivery((job) => anAttempted(job));
    await call('POST', TEST, { data: 's3cret' });
    expect(changes).toEqual([
      {
        ...CALLER,
        change: 'subscription_tested',
        queue: 'orders',
        subscriptionId: 'subscription-1',
        messageId: jobs[0]?.key.messageId,
      },
    ]);
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
    const { call, jobs, changes } = await apiWithDelivery((job) => anAttempted(job));
    expect(await call('POST', TEST, body)).toMatchObject(invalid(field));
    expect({ jobs, changes }).toEqual({ jobs: [], changes: [] });
  });

  it.each<[string, Parameters<typeof aSubscription>[0], number, string]>([
    ['that is disabled', { disabled: { reason: 'manual', at: 1 } }, 409, 'conflict'],
    ['that is unconfirmed', { unconfirmed: { tokenHash: 'x', at: 1 } }, 409, 'conflict'],
    ['that has expired', { expiresAt: NOON }, 404, 'not_found'],
    ['that is deleted', { deletedAt: NOON - 1 }, 404, 'not_found'],
    ['that does not exist', { id: 'subscription-2' }, 404, 'not_found'],
  ])('a subscription %s', async (_what, subscription, status, code) => {
    const { call, jobs, changes } = await apiWithDelivery((job) => anAttempted(job), subscription);
    expect(await call('POST', TEST)).toMatchObject({ status, body: faultOf(code) });
    expect({ jobs, changes }).toEqual({ jobs: [], changes: [] });
  });
});
