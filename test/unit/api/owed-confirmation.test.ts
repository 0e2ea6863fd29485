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

/** A queue that requires confirmation, and a delivery queue that fails while `fails` is true. */
const failingWorld = async (overrides: Partial<ApiDependencies> = {}) => {
  const journal = inMemoryJournal();
  const state = { fails: true, changesAtSend: [] as string[][] };
  const api = apiUnderTest({
    journal,
    deliveryQueue: {
      send: (sent) => {
        state.changesAtSend.push(api.changes.map(({ change }) => change));
        if (state.fails) return Promise.reject(new Error('SQS does not respond'));
        api.jobs.push(...structuredClone(sent));
        return Promise.resolve();
      },
    },
    ...overrides,
  });
  await api.call('PUT', '/v2/queues/orders', { _confirm_subscriptions: true });
  return { ...api, journal, state };
};

type FailingWorld = Awaited<ReturnType<typeof failingWorld>>;

/** The link in the only job. */
const linkOf = ({ jobs }: FailingWorld): string => {
  expect(jobs).toHaveLength(1);
  const [job] = jobs;
  if (job?.body.kind !== 'inline') throw new Error('No message was sent');
  const { confirmUrl } = JSON.parse(job.body.message.data) as { confirmUrl: string };
  return confirmUrl.slice(PUBLIC_URL.length);
};

describe('a confirmation request that could not be sent', () => {
  it('does not fail the subscribe call, whose response contains the secret and the confirmation as owed', async () => {
    const { call, journal, changes, faults } = await failingWorld();
    const answer = await call('POST', PATH, { subscriber: HOOK });
    expect(answer).toMatchObject({
      status: 201,
      body: { subscription_id: 'id-1', secret: aSecret, confirmation: 'owed' },
    });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmed: false, confirmation: 'owed' });
    expect(changes.map(({ change }) => change)).toEqual(['queue_created', 'subscription_created']);
    expect(faults).toEqual([]);
    expect(journal.facts).toEqual([
      expect.objectContaining({ fact: 'confirmation_not_sent', queue: 'orders', subscriptionId: 'id-1' }),
    ]);
  });

  it('is tried after the change is on the audit trail', async () => {
    const { call, state } = await failingWorld();
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
      what: 'the same POST, which is still a conflict',
      request: ['POST', PATH, { subscriber: HOOK }],
      status: 409,
    },
    {
      what: 'a PATCH with the same subscriber',
      request: ['PATCH', ONE, { subscriber: HOOK }],
      status: 200,
    },
    { what: 'an import of the same subscription', request: ['POST', IMPORT, LINE], status: 200 },
    {
      what: 'an import that replaces the subscription',
      request: ['POST', `${IMPORT}?replace=true`, JSON.stringify({ subscriber: HOOK, ttl: 60 })],
      status: 200,
    },
  ] as const)('is sent again by $what', async ({ request: [method, path, body], status }) => {
    const api = await failingWorld();
    await api.call('POST', PATH, { subscriber: HOOK });
    api.state.fails = false;
    expect(await api.call(method, path, body)).toMatchObject({ status });
    expect((await api.call('GET', ONE)).body).toMatchObject({ confirmed: false, confirmation: 'asked' });
    expect(await api.call('GET', linkOf(api))).toMatchObject({ status: 200 });
    expect((await api.call('GET', ONE)).body).toMatchObject({ confirmed: true });
  });

  it('is sent only once by repeated requests', async () => {
    const api = await failingWorld();
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

  it('stays owed after an import, which imports the line', async () => {
    const { call } = await failingWorld();
    expect(await call('POST', IMPORT, LINE)).toMatchObject({
      status: 200,
      body: { imported: 1, failed: [] },
    });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmation: 'owed' });
  });

  it('stays owed after a change of the subscriber, which takes effect', async () => {
    const { call, state } = await failingWorld();
    state.fails = false;
    await call('POST', PATH, { subscriber: HOOK });
    state.fails = true;
    const answer = await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect(answer).toMatchObject({
      status: 200,
      body: { subscriber: `${HOOK}/2`, confirmed: false, confirmation: 'owed' },
    });
  });

  it('keeps the time since which the confirmation is pending', async () => {
    const { call, state, registry, time } = await failingWorld();
    await call('POST', PATH, { subscriber: HOOK });
    const before = await registry.findSubscription('orders', 'id-1');
    time.now += 60_000;
    state.fails = false;
    await call('POST', IMPORT, LINE);
    expect((await registry.findSubscription('orders', 'id-1'))?.unconfirmed?.at).toBe(
      before?.unconfirmed?.at,
    );
  });

  it('is not sent for a deleted subscription', async () => {
    const { call, state, jobs } = await failingWorld();
    await call('POST', PATH, { subscriber: HOOK });
    await call('DELETE', ONE);
    state.fails = false;
    await call('POST', PATH, { subscriber: HOOK });
    expect(jobs.map(({ key }) => key.subscriptionId)).toEqual(['id-2']);
  });
});

describe('a confirmation request that was sent', () => {
  it('stays owed if recording it fails, and its link still works', async () => {
    const { dependencies } = apiUnderTest();
    const { registry } = dependencies;
    let writes = 0;
    const api = await failingWorld({
      registry: {
        ...registry,
        // The first write stores the token, the second one records that the request was sent.
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

describe('without required confirmation', () => {
  it('responses contain no confirmation field', async () => {
    const { call } = apiUnderTest();
    expect((await call('POST', PATH, { subscriber: HOOK })).body).not.toHaveProperty('confirmation');
    expect((await call('GET', ONE)).body).not.toHaveProperty('confirmation');
  });
});
