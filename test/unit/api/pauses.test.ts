import { describe, expect } from 'vitest';
import { addSubscription } from '../../support/add-subscription.ts';
import { aQueue, aSubscription } from '../../support/builders.ts';
import { CALLER, invalid, it, NOON, ONE, QUEUE, recordAll, refusal } from './api-test.ts';

const SINCE = '2026-11-21T12:00:00.000Z';
const IN_AN_HOUR = '2026-11-21T13:00:00.000Z';

describe('POST …/subscriptions/{id}/pause', () => {
  it('shows the pause, and within how many seconds the last request ends', async ({
    call,
    subscribe,
    get,
  }) => {
    await subscribe();
    const paused = { since: SINCE, by: 'subscription' };
    // The cache of subscriptions (5), the latest start in an invocation (10) and the request itself (15).
    expect(await call('POST', `${ONE}/pause`)).toMatchObject({
      status: 200,
      body: { id: 'id-1', paused, requests_end_within_seconds: 30 },
    });
    expect(await get(ONE)).toMatchObject({ paused });
    expect(await get(`${QUEUE}/subscriptions`)).toMatchObject({ subscriptions: [{ paused }] });
  });

  it('counts the shorter timeout of the subscription', async ({ call, subscribe }) => {
    await subscribe({ options: { attempt_timeout: 3 } });
    const { body } = await call('POST', `${ONE}/pause`);
    expect(body).toMatchObject({ requests_end_within_seconds: 18 });
  });

  it('stops a receiver by pull at once', async ({ call, registry }) => {
    await registry.putQueue(aQueue());
    await addSubscription(registry, aSubscription({ id: 'id-1', subscriber: 'pull:' }));
    const { body } = await call('POST', `${ONE}/pause`);
    expect(body).toMatchObject({ requests_end_within_seconds: 0 });
  });

  it.for([[{ until: IN_AN_HOUR }], [{ for_seconds: 3600 }]])(
    'ends by itself: %j',
    async ([body], { api }) => {
      await api.subscribe();
      const { body: answer } = await api.call('POST', `${ONE}/pause`, body);
      expect(answer).toMatchObject({ paused: { since: SINCE, until: IN_AN_HOUR } });
      api.time.now += 3_600_000;
      expect(await api.get(ONE)).not.toHaveProperty('paused');
    },
  );

  it('changes only the end of a pause in force', async ({ call, subscribe, time }) => {
    await subscribe();
    await call('POST', `${ONE}/pause`, { for_seconds: 60 });
    time.now += 1000;
    const { body } = await call('POST', `${ONE}/pause`, {});
    expect(body).toHaveProperty('paused', { since: SINCE, by: 'subscription' });
  });

  it('sends the operation that ends the waits before it changes the record', async ({ api }) => {
    await api.subscribe();
    api.dependencies.operations.send = () => Promise.reject(new Error('SQS is down'));
    expect(await api.call('POST', `${ONE}/pause`)).toMatchObject({ status: 500 });
    expect(await api.get(ONE)).not.toHaveProperty('paused');
  });

  it('gives the operation the version of the pause', async ({ api }) => {
    await api.subscribe();
    await api.call('POST', `${ONE}/pause`);
    const operation = { kind: 'pause', queue: 'orders', subscriptionId: 'id-1', version: NOON };
    expect(api.queued).toEqual([{ operation, delaySeconds: 2 }]);
    expect((await api.stored()).pauses).toEqual([{ from: NOON, version: NOON }]);
  });

  it('refuses a slow change that a later one has overtaken: its operation has found that one, and given up', async ({
    api,
  }) => {
    await api.subscribe();
    await api.call('POST', `${ONE}/pause`, {});
    api.time.now += 1_000;
    const changeSubscription = api.registry.changeSubscription.bind(api.registry);
    api.registry.changeSubscription = async (...asked) => {
      api.registry.changeSubscription = changeSubscription;
      api.time.now += 1_000;
      expect(await api.call('POST', `${ONE}/resume`)).toMatchObject({ status: 200 });
      return changeSubscription(...asked);
    };
    expect(await api.call('POST', `${ONE}/pause`, { until: IN_AN_HOUR })).toMatchObject(refusal('conflict'));
    expect((await api.stored()).pauses).toEqual([{ from: NOON, until: NOON + 2_000, version: NOON + 2_000 }]);
  });

  it('is in the audit trail', async ({ api }) => {
    await api.subscribe();
    await api.call('POST', `${ONE}/pause`, { until: IN_AN_HOUR });
    await api.call('POST', `${ONE}/resume`, { per_second: 5 });
    const key = { ...CALLER, queue: 'orders', subscriptionId: 'id-1' };
    expect(api.changes.slice(1)).toEqual([
      { change: 'subscription_paused', ...key, until: IN_AN_HOUR },
      { change: 'subscription_resumed', ...key, perSecond: 5 },
    ]);
  });

  it.for([
    [{ until: SINCE }, 'until'],
    [{ until: '9999-12-31T23:59:59-00:01' }, 'until'],
    [{ until: IN_AN_HOUR, for_seconds: 1 }, 'for_seconds'],
    [{ for_seconds: 0 }, 'for_seconds'],
    [{ forever: true }, 'forever'],
  ] as const)('refuses %j', async ([body, field], { call, subscribe }) => {
    await subscribe();
    expect(await call('POST', `${ONE}/pause`, body)).toMatchObject(invalid(field));
  });

  it('refuses a subscription that does not exist', async ({ api }) => {
    await api.subscribe();
    expect(await api.call('POST', `${QUEUE}/subscriptions/id-9/pause`)).toMatchObject(refusal('not_found'));
    expect(api.queued).toEqual([]);
  });
});

describe('POST …/subscriptions/{id}/resume', () => {
  it('ends the pause, and says at which rate to send what waits', async ({ api }) => {
    await api.subscribe();
    await api.call('POST', `${ONE}/pause`);
    api.time.now += 1000;
    const { status, body } = await api.call('POST', `${ONE}/resume`, { per_second: 20 });
    expect(status).toBe(200);
    expect(body).not.toHaveProperty('paused');
    const at = NOON + 1000;
    expect((await api.stored()).pauses).toEqual([{ from: NOON, until: at, perSecond: 20, version: at }]);
    expect(api.queued.at(-1)).toMatchObject({ operation: { version: at }, delaySeconds: 2 });
  });

  it('changes nothing where nothing was paused', async ({ api }) => {
    await api.subscribe();
    expect(await api.call('POST', `${ONE}/resume`)).toMatchObject({ status: 200 });
    expect(await api.stored()).not.toHaveProperty('pauses');
    expect(api.queued).toEqual([]);
  });

  it('does not enable, and enable does not resume', async ({ api }) => {
    await api.subscribe();
    await api.call('POST', `${ONE}/pause`);
    await api.call('POST', `${ONE}/disable`);
    await api.call('POST', `${ONE}/enable`);
    expect(await api.get(ONE)).toHaveProperty('paused');
    await api.call('POST', `${ONE}/disable`);
    await api.call('POST', `${ONE}/resume`);
    expect(await api.get(ONE)).toMatchObject({ disabled: { reason: 'manual' } });
  });

  it.for([0, 1001, 'fast'])('refuses the rate %s', async (per_second, { call, subscribe }) => {
    await subscribe();
    expect(await call('POST', `${ONE}/resume`, { per_second })).toMatchObject(invalid('per_second'));
  });
});

describe('POST …/subscriptions/{id}/disable', () => {
  it('says within how many seconds the last request ends', async ({ call, subscribe }) => {
    await subscribe();
    const { body } = await call('POST', `${ONE}/disable`);
    expect(body).toMatchObject({ requests_end_within_seconds: 30 });
  });
});

describe('POST /v2/queues/{queue}/pause', () => {
  it('pauses all subscriptions of the queue, and says so everywhere', async ({ call, subscribe, get }) => {
    await subscribe();
    const paused = { since: SINCE, by: 'queue' };
    expect(await call('POST', `${QUEUE}/pause`)).toMatchObject({
      status: 200,
      body: { name: 'orders', paused, requests_end_within_seconds: 30 },
    });
    expect(await get(ONE)).toMatchObject({ paused });
    expect(await get('/v2/queues')).toMatchObject({ queues: [{ name: 'orders', paused }] });
    expect(await get(`${QUEUE}/waiting`)).toMatchObject({ count: 0, paused });
  });

  it('stays with a queue whose metadata is changed or replaced', async ({ call, subscribe, get }) => {
    await subscribe();
    await call('POST', `${QUEUE}/pause`);
    await call('PATCH', QUEUE, [{ op: 'add', path: '/metadata/owner', value: 'ada' }]);
    expect(await get(ONE)).toHaveProperty('paused');
  });

  it('is resumed once deliver no longer has a cached queue that is paused', async ({ api }) => {
    await api.subscribe();
    await api.call('POST', `${QUEUE}/pause`, { for_seconds: 60 });
    const { body } = await api.call('POST', `${QUEUE}/resume`, { per_second: 0.5 });
    expect(body).toEqual({ name: 'orders' });
    expect(api.queued.map(({ delaySeconds }) => delaySeconds)).toEqual([2, 7]);
    expect(api.changes.slice(-2)).toMatchObject([
      { change: 'queue_paused', queue: 'orders', until: '2026-11-21T12:01:00.000Z' },
      { change: 'queue_resumed', queue: 'orders', perSecond: 0.5 },
    ]);
  });

  it('leaves a paused subscription paused', async ({ call, subscribe, get }) => {
    await subscribe();
    await call('POST', `${QUEUE}/pause`);
    await call('POST', `${ONE}/pause`);
    await call('POST', `${QUEUE}/resume`);
    expect(await get(ONE)).toMatchObject({ paused: { by: 'subscription' } });
  });

  it.for(['pause', 'resume'])('refuses to %s a queue that does not exist', async (action, { call }) => {
    expect(await call('POST', `/v2/queues/none/${action}`)).toMatchObject(refusal('not_found'));
  });
});

describe('GET …/waiting', () => {
  const waitsFor = (by: 'pull' | 'subscription_pause' | 'queue_pause', acceptedAt: number) => ({
    subscriptionId: 'id-1',
    acceptedAt,
    next: { number: 1, phase: 'initial', dueAt: acceptedAt, by } as const,
    overdueAt: acceptedAt,
  });

  it('counts what waits for a subscription and in its paused queue', async ({ api }) => {
    await api.subscribe();
    await recordAll(api, [
      waitsFor('subscription_pause', NOON - 1000),
      waitsFor('queue_pause', NOON - 3000),
      { ...waitsFor('queue_pause', NOON - 9000), subscriptionId: 'other' },
      waitsFor('pull', NOON),
    ]);
    const oldest_accepted_at = '2026-11-21T11:59:57.000Z';
    expect(await api.get(`${ONE}/waiting`)).toEqual({ count: 3, more: false, oldest_accepted_at });
    expect(await api.get(`${QUEUE}/waiting`)).toMatchObject({ count: 2, more: false });
  });

  it('counts ten thousand at most', async ({ api }) => {
    await api.registry.putQueue(aQueue());
    await addSubscription(api.registry, aSubscription({ id: 'id-1' }));
    await recordAll(
      api,
      Array.from({ length: 10_001 }, () => waitsFor('subscription_pause', NOON)),
    );
    expect(await api.get(`${ONE}/waiting`)).toMatchObject({ count: 10_000, more: true });
  });
});
