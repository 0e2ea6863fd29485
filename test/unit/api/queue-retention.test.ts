import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { apiUnderTest, faultOf, NOON } from './api-under-test.ts';
import { apiWithOrders, recordAll, recordMessage } from './recorded.ts';

const QUEUE = '/v2/queues/orders';

describe('the retention of a queue', () => {
  it('is at most that of the deployment, which the refusal names', async () => {
    const { call } = await apiWithOrders();
    expect((await call('PUT', QUEUE, { _retention_days: 30 })).status).toBe(204);
    const patch = [{ op: 'replace', path: '/metadata/_retention_days', value: 31 }];
    for (const refused of [
      await call('PUT', QUEUE, { _retention_days: 31 }),
      await call('PATCH', QUEUE, patch),
    ]) {
      expect(refused).toMatchObject({ status: 400, body: faultOf('invalid_request', '_retention_days') });
      expect(JSON.stringify(refused.body)).toContain('the 30 days of the setting retentionDays');
    }
    expect((await call('GET', QUEUE)).body).toEqual({ _retention_days: 30 });
  });

  it.each([
    [20, { _retention_days: 20 }],
    [30, { _retention_days: 31 }],
  ])('limits how far back a recovery goes: %i days with the metadata %j', async (days, metadata) => {
    const { call, registry } = await apiWithOrders();
    await registry.putQueue({ name: 'orders', createdAt: 0, metadata });
    // The retention after 15 days of schedule, in which each of 100 retries is delayed by another hour.
    const oldest = NOON - (days + 15) * DAY_MS - 100 * 60 * 60 * 1000;
    const startFrom = (since: number) =>
      call('POST', `${QUEUE}/recoveries`, {
        since: new Date(since).toISOString(),
        until: new Date(NOON).toISOString(),
      });
    expect((await startFrom(oldest)).status).toBe(202);
    expect(await startFrom(oldest - 1)).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', 'since'),
    });
  });

  it('is that of the message and delivery of a test', async () => {
    let now = NOON;
    const sleep = (milliseconds: number): Promise<void> => {
      now += milliseconds;
      return Promise.resolve();
    };
    const { call, registry, jobs, messageRecords } = await apiWithOrders({
      clock: { now: () => now, sleep },
    });
    await registry.putQueue({ name: 'orders', createdAt: 0, metadata: { _retention_days: 20 } });
    await call('POST', `${QUEUE}/subscriptions`, { subscriber: 'https://hooks.example/a' });
    const [subscription] = (await registry.listSubscriptions('orders', { limit: 1 })).items;
    await call('POST', `${QUEUE}/subscriptions/${subscription?.id ?? ''}/test`);
    expect(jobs).toMatchObject([{ retentionDays: 20 }]);
    const record = await messageRecords.find({ queue: 'orders', messageId: jobs[0]?.key.messageId ?? '' });
    expect(record).toMatchObject({ retentionDays: 20, expiresAt: NOON + 20 * DAY_MS });
  });
});

const PATH = '/v2/queues/orders/subscriptions';
const HOOK = 'https://hooks.example';

const full = { status: 409, body: faultOf('conflict') };

const withRoomFor = (most: { subscriptions?: number; bytes?: number }) => {
  const { settings } = apiUnderTest().dependencies;
  return apiUnderTest({
    settings: { ...settings, queueLimit: { subscriptions: 100, bytes: 100_000, ...most } },
  });
};

describe('a full queue', () => {
  it('refuses another subscription with its limits, and does not affect other queues', async () => {
    const { call, world } = withRoomFor({ subscriptions: 1 });
    await call('POST', PATH, { subscriber: `${HOOK}/1` });
    const before = await world();
    const answer = await call('POST', PATH, { subscriber: `${HOOK}/2` });
    expect(answer).toMatchObject(full);
    expect(JSON.stringify(answer.body)).toContain('at most 1 subscriptions, and 100000 bytes');
    expect(await world()).toEqual(before);
    expect(await call('POST', '/v2/queues/others/subscriptions', { subscriber: HOOK })).toMatchObject({
      status: 201,
    });
  });

  it('is one with as many subscriptions as its metadata allows, if that is less than the setting', async () => {
    const { call } = withRoomFor({ subscriptions: 2 });
    const subscribe = async (n: number) => (await call('POST', PATH, { subscriber: `${HOOK}/${n}` })).status;
    const allow = (most: number) => call('PUT', '/v2/queues/orders', { _max_subscriptions: most });
    await allow(1);
    expect([await subscribe(1), await subscribe(2)]).toEqual([201, 409]);
    await allow(100);
    expect([await subscribe(2), await subscribe(3)]).toEqual([201, 409]);
    await allow(1);
    expect(await call('PATCH', `${PATH}/id-1`, { name: 'x' })).toMatchObject({ status: 200 });
  });

  it('has room again after a deleted subscription is removed', async () => {
    const { call, registry } = withRoomFor({ subscriptions: 1 });
    await call('POST', PATH, { subscriber: `${HOOK}/1` });
    await call('DELETE', `${PATH}/id-1`);
    expect(await call('POST', PATH, { subscriber: `${HOOK}/2` })).toMatchObject(full);
    await registry.removeMarked('orders', 'id-1');
    expect(await call('POST', PATH, { subscriber: `${HOOK}/2` })).toMatchObject({ status: 201 });
  });

  it('refuses changes that make a subscription larger, and accepts others', async () => {
    const { call } = withRoomFor({ bytes: 2_000 });
    await call('POST', PATH, { subscriber: HOOK, options: { post_data: 'x'.repeat(1_000) } });
    const larger = { options: { post_data: 'x'.repeat(2_000) } };
    expect(await call('PATCH', `${PATH}/id-1`, larger)).toMatchObject(full);
    expect(await call('PATCH', `${PATH}/id-1`, { subscriber: `${HOOK}/${'x'.repeat(1_500)}` })).toMatchObject(
      full,
    );
    expect(await call('PATCH', `${PATH}/id-1`, { name: 'x'.repeat(128) })).toMatchObject({ status: 200 });
    const smaller = { options: { post_data: 'x'.repeat(900) } };
    expect(await call('PATCH', `${PATH}/id-1`, smaller)).toMatchObject({ status: 200 });
    expect(await call('PATCH', `${PATH}/id-1`, { ttl: 60 })).toMatchObject({ status: 200 });
    expect(await call('POST', `${PATH}/id-1/disable`)).toMatchObject({ status: 200 });
  });

  it('refuses lines of an import individually', async () => {
    const { call } = withRoomFor({ subscriptions: 1 });
    await call('POST', PATH, { subscriber: `${HOOK}/1` });
    const line = JSON.stringify({ subscriber: `${HOOK}/2` });
    const { status, body } = await call('POST', '/v2/queues/orders/import', `${line}\n`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ imported: 0, failed: [{ line: 1, ...faultOf('conflict') }] });
  });
});

const LISTINGS = [{ listing: 'books' }, { listing: 'deliveries' }, { listing: 'messages' }];

const linksSchema = z.looseObject({ links: z.array(z.object({ href: z.string() })) });

describe.each(LISTINGS)('$listing of an unknown queue', ({ listing }) => {
  it('are refused, so that a mistyped name does not look like an empty queue', async () => {
    const { call } = await apiWithOrders();
    expect(await call('GET', `/v2/queues/ordres/${listing}`)).toMatchObject({
      status: 404,
      body: faultOf('not_found'),
    });
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
