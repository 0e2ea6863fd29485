import { describe, expect, it } from 'vitest';
import type { ApiDependencies } from '../../../functions/api/dependencies.ts';
import { inMemoryJournal } from '../../support/in-memory/in-memory-journal.ts';
import { apiUnderTest, faultOf, PUBLIC_URL } from './api-under-test.ts';

const HOOK = 'https://hooks.example/orders';
const PATH = '/v2/queues/orders/subscriptions';
const ONE = `${PATH}/id-1`;
const IMPORT = '/v2/queues/orders/import';
const LINE = JSON.stringify({ subscriber: HOOK });

const aSecret: unknown = expect.stringMatching(/^whsec_/);

/** A queue that asks, on a system whose delivery queue fails as long as `fails`. */
const failing = async (overrides: Partial<ApiDependencies> = {}) => {
  const journal = inMemoryJournal();
  const state = { fails: true, changesAtSend: [] as string[][] };
  const api = apiUnderTest({
    journal,
    deliveryQueue: {
      send: (sent) => {
        state.changesAtSend.push(api.changes.map(({ change }) => change));
        if (state.fails) return Promise.reject(new Error('SQS is away'));
        api.jobs.push(...structuredClone(sent));
        return Promise.resolve();
      },
    },
    ...overrides,
  });
  await api.call('PUT', '/v2/queues/orders', { _confirm_subscriptions: true });
  return { ...api, journal, state };
};

type Failing = Awaited<ReturnType<typeof failing>>;

/** The link that the only job carries. */
const linkOf = ({ jobs }: Failing): string => {
  expect(jobs).toHaveLength(1);
  const [job] = jobs;
  if (job?.body.kind !== 'inline') throw new Error('no message was sent');
  const { confirmUrl } = JSON.parse(job.body.message.data) as { confirmUrl: string };
  return confirmUrl.slice(PUBLIC_URL.length);
};

describe('a question that could not be sent', () => {
  it('is no failure to subscribe: the secret is shown, and the answer says that it is owed', async () => {
    const { call, journal, changes, faults } = await failing();
    const answer = await call('POST', PATH, { subscriber: HOOK });
    expect(answer).toMatchObject({
      status: 201,
      body: { subscription_id: 'id-1', secret: aSecret, confirmation: 'owed' },
    });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmed: false, confirmation: 'owed' });
    expect(changes.map(({ change }) => change)).toEqual(['queue_created', 'subscription_created']);
    expect(faults).toEqual([]);
    expect(journal.facts).toEqual([
      expect.objectContaining({ fact: 'confirmation_owed', queue: 'orders', subscriptionId: 'id-1' }),
    ]);
  });

  it('is on the audit trail before it is tried', async () => {
    const { call, state } = await failing();
    await call('POST', PATH, { subscriber: HOOK });
    await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    await call('POST', IMPORT, JSON.stringify({ subscriber: `${HOOK}/3` }));
    expect(state.changesAtSend.map((changes) => changes.at(-1))).toEqual([
      'subscription_created',
      'subscription_changed',
      'subscription_imported',
    ]);
  });

  it.each([
    {
      what: 'the same POST, which is a conflict all the same',
      request: ['POST', PATH, { subscriber: HOOK }],
      status: 409,
    },
    {
      what: 'a PATCH with the subscriber that it has',
      request: ['PATCH', ONE, { subscriber: HOOK }],
      status: 200,
    },
    { what: 'an import of what it is', request: ['POST', IMPORT, LINE], status: 200 },
    {
      what: 'an import that replaces it',
      request: ['POST', `${IMPORT}?replace=true`, JSON.stringify({ subscriber: HOOK, ttl: 60 })],
      status: 200,
    },
  ] as const)('is sent by $what', async ({ request: [method, path, body], status }) => {
    const api = await failing();
    await api.call('POST', PATH, { subscriber: HOOK });
    api.state.fails = false;
    expect(await api.call(method, path, body)).toMatchObject({ status });
    expect((await api.call('GET', ONE)).body).toMatchObject({ confirmed: false, confirmation: 'asked' });
    expect(await api.call('GET', linkOf(api))).toMatchObject({ status: 200 });
    expect((await api.call('GET', ONE)).body).toMatchObject({ confirmed: true });
  });

  it('is sent once: what repeats the request later asks nobody again', async () => {
    const api = await failing();
    await api.call('POST', PATH, { subscriber: HOOK });
    api.state.fails = false;
    expect(await api.call('POST', IMPORT, LINE)).toMatchObject({ body: { unchanged: 1 } });
    await api.call('POST', IMPORT, LINE);
    expect(await api.call('POST', PATH, { subscriber: HOOK })).toMatchObject({
      status: 409,
      body: faultOf('conflict', 'subscriber'),
    });
    expect(await api.call('GET', linkOf(api))).toMatchObject({ status: 200 });
  });

  it('stays owed by an import, whose line is imported', async () => {
    const { call } = await failing();
    expect(await call('POST', IMPORT, LINE)).toMatchObject({
      status: 200,
      body: { imported: 1, failed: [] },
    });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmation: 'owed' });
  });

  it('stays owed by a change of the subscriber, which is made', async () => {
    const { call, state } = await failing();
    state.fails = false;
    await call('POST', PATH, { subscriber: HOOK });
    state.fails = true;
    const answer = await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect(answer).toMatchObject({
      status: 200,
      body: { subscriber: `${HOOK}/2`, confirmed: false, confirmation: 'owed' },
    });
  });

  it('keeps the time since when its subscriber is waited for', async () => {
    const { call, state, registry, time } = await failing();
    await call('POST', PATH, { subscriber: HOOK });
    const before = await registry.findSubscription('orders', 'id-1');
    time.now += 60_000;
    state.fails = false;
    await call('POST', IMPORT, LINE);
    expect((await registry.findSubscription('orders', 'id-1'))?.unconfirmed?.at).toBe(
      before?.unconfirmed?.at,
    );
  });

  it('is not owed to a subscription that was deleted', async () => {
    const { call, state, jobs } = await failing();
    await call('POST', PATH, { subscriber: HOOK });
    await call('DELETE', ONE);
    state.fails = false;
    await call('POST', PATH, { subscriber: HOOK });
    expect(jobs.map(({ key }) => key.subscriptionId)).toEqual(['id-2']);
  });
});

describe('a question that was sent', () => {
  it('is owed still where that is not on record, and a confirmation by it counts', async () => {
    const { dependencies } = apiUnderTest();
    const { registry } = dependencies;
    let writes = 0;
    const api = await failing({
      registry: {
        ...registry,
        // The first one poses the question, the second one notes that it is sent.
        changeSubscription: (...given) =>
          ++writes === 2 ? Promise.reject(new Error('throttled')) : registry.changeSubscription(...given),
      },
    });
    api.state.fails = false;
    expect(await api.call('POST', PATH, { subscriber: HOOK })).toMatchObject({
      status: 201,
      body: { confirmation: 'owed' },
    });
    expect(await api.call('GET', linkOf(api))).toMatchObject({ status: 200 });
    expect((await api.call('GET', ONE)).body).not.toHaveProperty('confirmation');
  });
});

describe('where nobody is asked', () => {
  it('nothing is said of a question', async () => {
    const { call } = apiUnderTest();
    expect((await call('POST', PATH, { subscriber: HOOK })).body).not.toHaveProperty('confirmation');
    expect((await call('GET', ONE)).body).not.toHaveProperty('confirmation');
  });
});
