import { describe, expect, vi } from 'vitest';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { timeText } from '../../../shared/wire/fields.ts';
import {
  apiUnderTest,
  CALLER,
  HOOK,
  invalid,
  it,
  NOON,
  ONE,
  QUEUE,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';

const RESTORABLE = { deletedAt: timeText(NOON), restorableUntil: timeText(NOON + 7 * DAY_MS) };
const ARCHIVED = `${QUEUE}/archived-subscriptions`;
const RESTORE_QUEUE = `${QUEUE}/restore`;
const RESTORE_ONE = `${ONE}/restore`;

describe.for([
  ['queue', QUEUE],
  ['subscription', ONE],
] as const)('DELETE of a %s', ([, path]) => {
  it('says until when it can be undone, and within how many seconds the last request has ended', async ({
    subscribe,
    call,
  }) => {
    await subscribe();
    const { status, headers } = await call('DELETE', path);
    expect([status, headers.get('restorable-until')]).toEqual([204, RESTORABLE.restorableUntil]);
    await subscribe({ subscriber: `${HOOK}/2` });
    const { body } = await call('POST', `${SUBSCRIPTIONS}/id-2/pause`, {});
    const { requests_end_within_seconds: seconds } = body as { requests_end_within_seconds: number };
    expect(headers.get('requests-end-within-seconds')).toBe(String(seconds));
  });

  it('with now=true, of what is missing, or where the deployment keeps no archives leaves none', async ({
    subscribe,
    call,
    dependencies,
  }) => {
    expect((await call('DELETE', path)).headers.has('restorable-until')).toBe(false);
    await subscribe();
    expect((await call('DELETE', `${path}?now=true`)).headers.has('restorable-until')).toBe(false);
    expect(await call('POST', `${path}/restore`)).toMatchObject({ status: 404 });
    dependencies.settings.archiveMs = 0;
    await subscribe({ subscriber: `${HOOK}/2` });
    const second = path === ONE ? `${SUBSCRIPTIONS}/id-2` : path;
    expect((await call('DELETE', second)).headers.has('restorable-until')).toBe(false);
    expect(await call('POST', `${second}/restore`)).toMatchObject({ status: 404 });
  });

  it('refuses another value of now', async ({ call }) => {
    expect(await call('DELETE', `${path}?now=1`)).toMatchObject(invalid('now'));
  });
});

describe('the restoration of a subscription', () => {
  it('brings it back with its secret, its token hashes and its age, and is audited', async ({ api }) => {
    await api.subscribe({ name: 'ACME' });
    const before = await api.stored();
    await api.call('DELETE', ONE);
    api.time.now += 5_000;
    expect(await api.call('POST', RESTORE_ONE)).toMatchObject({
      status: 200,
      body: { id: 'id-1', name: 'ACME', subscriber: HOOK, age: 5 },
    });
    expect(await api.stored()).toEqual({ ...before, restored: { deletedAt: NOON, at: NOON + 5_000 } });
    expect(api.changes.at(-1)).toMatchObject({
      ...CALLER,
      change: 'subscription_restored',
      queue: 'orders',
      subscriptionId: 'id-1',
      after: { subscriber: 'https://hooks.example' },
    });
  });

  it.for([
    ['its pause', ['pause']],
    ['the end of its pause', ['pause', 'resume']],
  ] as const)('continues %s, whose operation has ended with the deletion', async ([, calls], { api }) => {
    await api.subscribe();
    for (const call of calls) await api.call('POST', `${ONE}/${call}`, {});
    const announced = api.queued.at(-1);
    await api.call('DELETE', ONE);
    await api.call('POST', RESTORE_ONE);
    expect(announced).toMatchObject({ operation: { kind: 'pause' } });
    expect(api.queued.at(-1)).toEqual(announced);
  });

  it('shows the pause of its queue', async ({ api }) => {
    await api.subscribe();
    await api.call('DELETE', ONE);
    await api.call('POST', `${QUEUE}/pause`, {});
    expect(await api.call('POST', RESTORE_ONE)).toMatchObject({ body: { paused: { by: 'queue' } } });
  });

  it('is offered in a list, without secrets, until its end', async ({ api }) => {
    await api.subscribe({ name: 'ACME' });
    await api.call('DELETE', ONE);
    const listed = { id: 'id-1', name: 'ACME', subscriber: HOOK, ...RESTORABLE };
    expect(await api.get(ARCHIVED)).toEqual({ subscriptions: [listed], links: [] });
    api.time.now += 7 * DAY_MS;
    expect(await api.get(ARCHIVED)).toEqual({ subscriptions: [], links: [] });
    expect(await api.call('POST', RESTORE_ONE)).toMatchObject(refusal('not_found'));
  });

  it('names the subscription that has its URL now', async ({ call, subscribe, changes }) => {
    await subscribe();
    await call('DELETE', ONE);
    await subscribe();
    const answer = await call('POST', RESTORE_ONE);
    expect(answer).toMatchObject(refusal('conflict', 'subscriber'));
    expect(JSON.stringify(answer.body)).toContain('id-2');
    expect(changes.map(({ change }) => change)).not.toContain('subscription_restored');
  });

  it('needs its queue', async ({ call, subscribe }) => {
    await subscribe();
    await call('DELETE', ONE);
    await call('DELETE', QUEUE);
    expect(await call('POST', RESTORE_ONE)).toMatchObject(refusal('not_found'));
    expect(await call('GET', ARCHIVED)).toMatchObject(refusal('not_found'));
  });

  it('is not for another queue that was made under the name since', async ({ api }) => {
    await api.subscribe();
    await api.call('DELETE', ONE);
    await api.call('DELETE', `${QUEUE}?now=true`);
    api.time.now += 1_000;
    await api.call('PUT', QUEUE);
    expect(await api.get(ARCHIVED)).toEqual({ subscriptions: [], links: [] });
    expect(await api.call('POST', RESTORE_ONE)).toMatchObject(refusal('not_found'));
  });

  it('needs room in a full queue only once its record is removed', async ({ api }) => {
    await api.call('PUT', QUEUE, { _max_subscriptions: 1 });
    await api.subscribe();
    await api.call('DELETE', ONE);
    expect(await api.call('POST', RESTORE_ONE)).toMatchObject({ status: 200 });
    await api.call('DELETE', ONE);
    await api.registry.removeMarked('orders', 'id-1');
    await api.subscribe({ subscriber: `${HOOK}/2` });
    expect(await api.call('POST', RESTORE_ONE)).toMatchObject(refusal('conflict'));
  });
});

describe('the restoration of a queue', () => {
  it('brings it back with its creation time and its subscriptions, and is audited', async ({ api }) => {
    await api.call('PUT', QUEUE, { team: 'red' });
    await api.subscribe();
    const [queue, subscription] = [await api.registry.findQueue('orders'), await api.stored()];
    await api.call('DELETE', QUEUE);
    api.time.now += 5_000;
    const body = { name: 'orders', state: 'restored' };
    expect(await api.call('POST', RESTORE_QUEUE)).toMatchObject({ status: 200, body });
    expect(await api.registry.findQueue('orders')).toMatchObject({ ...queue });
    expect(await api.stored()).toMatchObject(subscription);
    expect(api.changes.at(-1)).toEqual({ ...CALLER, change: 'queue_restored', queue: 'orders' });
    expect(await api.call('POST', RESTORE_QUEUE)).toMatchObject(refusal('not_found'));
  });

  it('is offered in a list', async ({ call, get, pages }) => {
    for (const name of ['a', 'b', 'c']) {
      await call('PUT', `/v2/queues/${name}`);
      await call('DELETE', `/v2/queues/${name}`);
    }
    const first = { queues: [{ name: 'a', ...RESTORABLE }] };
    expect(await get('/v2/archived-queues?limit=1')).toMatchObject(first);
    const all = [['a', 'b'], ['c']];
    expect(await pages('/v2/archived-queues?limit=2', 'queues', 'name')).toEqual(all);
  });

  it('is refused where the queue exists again, and says what to do', async ({ call }) => {
    await call('PUT', QUEUE, { team: 'red' });
    await call('DELETE', QUEUE);
    await call('PUT', QUEUE);
    const answer = await call('POST', RESTORE_QUEUE);
    expect(answer).toMatchObject(refusal('conflict'));
    expect(JSON.stringify(answer.body)).toContain('the queue orders exists');
    await call('DELETE', `${QUEUE}?now=true`);
    expect(await call('POST', RESTORE_QUEUE)).toMatchObject({ status: 200 });
    expect(await call('GET', QUEUE)).toMatchObject({ body: { team: 'red' } });
  });

  it('can undo an earlier deletion than the last', async ({ call, time }) => {
    await call('PUT', QUEUE, { team: 'red' });
    await call('DELETE', QUEUE);
    await call('PUT', QUEUE);
    time.now += 1;
    await call('DELETE', QUEUE);
    const { deletedAt } = RESTORABLE;
    expect(await call('POST', RESTORE_QUEUE, { until: deletedAt })).toMatchObject({ status: 200 });
    expect(await call('GET', QUEUE)).toMatchObject({ body: { team: 'red' } });
    expect(await call('POST', RESTORE_QUEUE, { until: 'today' })).toMatchObject(invalid('until'));
  });

  it('answers after a second, and leaves the remaining subscriptions to operate', async ({ api }) => {
    const { call, registry, time, queued } = api;
    await call('PUT', QUEUE);
    await call('DELETE', QUEUE);
    queued.length = 0;
    registry.completeRestoredQueue = (_name, hasTime) => {
      while (hasTime()) time.now += 100;
      return Promise.resolve(false);
    };
    const body = { name: 'orders', state: 'restoring' };
    expect(await call('POST', RESTORE_QUEUE)).toMatchObject({ status: 202, body });
    expect(time.now).toBe(NOON + 1_000);
    expect(queued).toEqual([{ operation: { kind: 'restoration', queue: 'orders' }, delaySeconds: 2 }]);
    expect(await call('PUT', QUEUE)).toMatchObject(refusal('conflict'));
  });

  it('goes on in operate if bringing the subscriptions back fails', async ({ api }) => {
    await api.call('PUT', QUEUE);
    await api.call('DELETE', QUEUE);
    const fault = new Error('throttled');
    vi.spyOn(api.registry, 'completeRestoredQueue').mockRejectedValue(fault);
    expect(await api.call('POST', RESTORE_QUEUE)).toMatchObject({ status: 202 });
    expect(api.faults).toMatchObject([{ fault }]);
  });
});

it('a restoration needs the permission of a deletion', async () => {
  const scopes = { read: 'r', publish: 'p', manage: 'm', credentials: 'c' };
  const { dependencies } = apiUnderTest();
  const api = apiUnderTest({
    settings: { ...dependencies.settings, jwtScopes: scopes, jwtQueuesClaim: undefined },
  });
  for (const path of [RESTORE_QUEUE, RESTORE_ONE])
    expect(await api.call('POST', path)).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden' } },
    });
});
