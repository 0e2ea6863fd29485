import { describe, expect } from 'vitest';
import { z } from 'zod';
import type { ApiDependencies } from '../../../functions/api/dependencies.ts';
import type { DeliveryJob } from '../../../shared/domain/delivery/job.ts';
import { inMemoryJournal } from '../../support/in-memory/in-memory-journal.ts';
import {
  apiUnderTest,
  CALLER,
  HOOK,
  invalid,
  it,
  NOON,
  ONE,
  PUBLIC_URL,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';

const requestData = z.object({ queue: z.string(), subscriptionId: z.string(), confirmUrl: z.string() });

const messageOf = (job: DeliveryJob | undefined) => {
  if (job?.body.kind !== 'inline') throw new Error('No message was sent');
  return job.body.message;
};

/** The path and token of the link in a job. */
const linkOf = (job: DeliveryJob | undefined): string => {
  const { confirmUrl } = requestData.parse(JSON.parse(messageOf(job).data));
  expect(confirmUrl.startsWith(`${PUBLIC_URL}/v2/queues/`)).toBe(true);
  return confirmUrl.slice(PUBLIC_URL.length);
};

/** A queue that requires confirmation, with one subscription that waits for it. */
const unconfirmed = async (fields: object = {}) => {
  const api = apiUnderTest();
  await api.call('PUT', '/v2/queues/orders', { _confirm_subscriptions: true });
  await api.call('POST', SUBSCRIPTIONS, { subscriber: HOOK, ...fields });
  return api;
};

describe('a new subscription', () => {
  it('is confirmed where no confirmation is required, also after its subscriber changes', async ({ api }) => {
    const { call, jobs } = api;
    const answer = await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    expect(answer.body).not.toHaveProperty('confirmation');
    const shown = (await call('GET', ONE)).body;
    expect(shown).toMatchObject({ confirmed: true });
    expect(shown).not.toHaveProperty('confirmation');
    await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmed: true });
    expect(jobs).toEqual([]);
  });

  it('waits for confirmation if the queue requires it', async () => {
    const { call, jobs, messageRecords } = await unconfirmed();
    expect((await call('GET', ONE)).body).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(1);
    const message = messageOf(jobs[0]);
    expect(message).toMatchObject({
      queue: 'orders',
      type: 'posthaste.subscription_confirmation',
      timestamp: '2026-11-21T12:00:00.000Z',
    });
    expect(jobs[0]?.key).toEqual({
      queue: 'orders',
      messageId: message.id,
      subscriptionId: 'id-1',
      bucket: 0,
    });
    expect(await messageRecords.find({ queue: 'orders', messageId: message.id })).toMatchObject({
      matched: 1,
      filtered: 0,
      buckets: 1,
    });
  });

  it('waits for confirmation on every queue if the deployment requires it', async ({ dependencies }) => {
    const { call, jobs } = apiUnderTest({
      settings: { ...dependencies.settings, subscriptionConfirmation: true },
    });
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(1);
  });

  it('has a unique token, which is only in the link', async () => {
    const { call, jobs, registry, changes } = await unconfirmed();
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2` });
    const [first, second] = jobs.map(
      (job) => new URL(linkOf(job), PUBLIC_URL).searchParams.get('token') ?? '',
    );
    expect(first).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(second).not.toBe(first);
    const kept = [await registry.findSubscription('orders', 'id-1'), jobs.map(({ key }) => key), changes];
    expect(JSON.stringify(kept)).not.toContain(first);
  });
});

describe.each(['GET', 'POST'])('%s …/confirm', (method) => {
  it('is redacted in the stored message of a failed confirmation request', async () => {
    const { call, jobs, messageRecords } = await unconfirmed();
    const message = messageOf(jobs[0]);
    const { confirmUrl: link } = requestData.parse(JSON.parse(message.data));
    const key = { queue: 'orders', messageId: message.id };
    await messageRecords.keepBody({ key, acceptedAt: NOON }, { kind: 'inline', message }, NOON + 86_400_000);
    const { body } = await call('GET', `/v2/queues/orders/messages/${message.id}`);
    expect(body).toMatchObject({
      body: { queue: 'orders', subscriptionId: 'id-1', confirmUrl: '***' },
    });
    expect(JSON.stringify(body)).not.toContain(link);
  });

  it('confirms once with the token of the link', async () => {
    const { call, jobs, changes } = await unconfirmed();
    const link = linkOf(jobs[0]);
    expect(await call(method, link)).toMatchObject({ status: 200, body: { confirmed: true } });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmed: true });
    expect(changes.at(-1)).toEqual({
      ...CALLER,
      change: 'subscription_confirmed',
      queue: 'orders',
      subscriptionId: 'id-1',
    });
    expect(await call(method, link)).toMatchObject({ status: 404 });
  });

  it.each([
    ['a guessed token', (link: string) => `${link.slice(0, -43)}${'A'.repeat(43)}`],
    ['a token cut short', (link: string) => link.slice(0, -1)],
    ['a token with more behind it', (link: string) => `${link}A`],
    ['no token', (link: string) => link.slice(0, link.indexOf('?'))],
    ['an empty token', (link: string) => link.slice(0, link.indexOf('=') + 1)],
    ['a very long token', (link: string) => `${link}${'A'.repeat(4000)}`],
    ['another queue', (link: string) => link.replace('orders', 'bills')],
    ['an invalid queue name', (link: string) => link.replace('orders', 'a%20b')],
    ['another subscription', (link: string) => link.replace('id-1', 'id-2')],
    ['an invalid subscription id', (link: string) => link.replace('id-1', 'a%20b')],
  ])('answers the same 404 to %s, and changes nothing', async (_name, changed) => {
    const { call, jobs, world } = await unconfirmed();
    const before = await world();
    const answer = await call(method, changed(linkOf(jobs[0])));
    expect(answer).toMatchObject(refusal('not_found'));
    expect(await world()).toEqual(before);
    const nothing = await call(method, '/v2/queues/none/subscriptions/none/confirm?token=x');
    expect(answer.body).toEqual(nothing.body);
  });

  it('answers 404 for a deleted or expired subscription', async () => {
    const { call, jobs, time } = await unconfirmed({ ttl: 60 });
    await call('POST', SUBSCRIPTIONS, { subscriber: `${HOOK}/2` });
    const [expired, deleted] = jobs.map(linkOf);
    await call('DELETE', `${SUBSCRIPTIONS}/id-2`);
    time.now += 60_000;
    expect(await call(method, expired ?? '')).toMatchObject({ status: 404 });
    expect(await call(method, deleted ?? '')).toMatchObject({ status: 404 });
  });
});

describe('a change of the subscriber', () => {
  it('requires a new confirmation, and invalidates earlier links', async () => {
    const { call, jobs } = await unconfirmed();
    await call('GET', linkOf(jobs[0]));
    expect((await call('PATCH', ONE, { subscriber: `${HOOK}/2` })).body).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(2);
    expect(await call('GET', linkOf(jobs[0]))).toMatchObject({ status: 404 });
    expect(await call('GET', linkOf(jobs[1]))).toMatchObject({ status: 200 });
  });

  it('to the same URL sends the request again only if the subscription is unconfirmed', async () => {
    const { call, jobs } = await unconfirmed();
    await call('PATCH', ONE, { subscriber: HOOK });
    expect(jobs).toHaveLength(2);
    expect(await call('GET', linkOf(jobs[0]))).toMatchObject({ status: 404 });
    await call('GET', linkOf(jobs[1]));
    await call('PATCH', ONE, { subscriber: `${HOOK}#same` });
    await call('PATCH', ONE, { ttl: 60, options: {} });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmed: true });
    expect(jobs).toHaveLength(2);
  });

  it('keeps the time of the first request if the subscription is unconfirmed', async () => {
    const { call, registry, time, jobs } = await unconfirmed();
    time.now += 60_000;
    await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect(jobs).toHaveLength(2);
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({ unconfirmed: { at: NOON } });
  });

  it('still requires confirmation if the queue no longer does but the subscription is unconfirmed', async () => {
    const { call, jobs } = await unconfirmed();
    await call('PUT', '/v2/queues/orders', {});
    expect((await call('PATCH', ONE, { subscriber: `${HOOK}/2` })).body).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(2);
  });
});

describe('the metadata _confirm_subscriptions', () => {
  it.for(['yes', 1, null])('cannot be %j', async (value, { call }) => {
    expect(await call('PUT', '/v2/queues/orders', { _confirm_subscriptions: value })).toMatchObject(
      invalid('_confirm_subscriptions'),
    );
  });
});

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

const onlyLinkOf = ({ jobs }: FailingWorld): string => {
  expect(jobs).toHaveLength(1);
  return linkOf(jobs[0]);
};

describe('a confirmation request that could not be sent', () => {
  it('does not fail the subscribe call, whose response contains the secret and the confirmation as owed', async () => {
    const { call, journal, changes, faults } = await failingWorld();
    const answer = await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
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
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
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
      request: ['POST', SUBSCRIPTIONS, { subscriber: HOOK }],
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
    await api.call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    api.state.fails = false;
    expect(await api.call(method, path, body)).toMatchObject({ status });
    expect((await api.call('GET', ONE)).body).toMatchObject({ confirmed: false, confirmation: 'asked' });
    expect(await api.call('GET', onlyLinkOf(api))).toMatchObject({ status: 200 });
    expect((await api.call('GET', ONE)).body).toMatchObject({ confirmed: true });
  });

  it('is sent only once by repeated requests', async () => {
    const api = await failingWorld();
    await api.call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    api.state.fails = false;
    expect(await api.call('POST', IMPORT, LINE)).toMatchObject({ body: { unchanged: 1 } });
    await api.call('POST', IMPORT, LINE);
    expect(await api.call('POST', SUBSCRIPTIONS, { subscriber: HOOK })).toMatchObject(
      refusal('conflict', 'subscriber'),
    );
    expect(await api.call('GET', onlyLinkOf(api))).toMatchObject({ status: 200 });
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
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    state.fails = true;
    const answer = await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect(answer).toMatchObject({
      status: 200,
      body: { subscriber: `${HOOK}/2`, confirmed: false, confirmation: 'owed' },
    });
  });

  it('keeps the time since which the confirmation is pending', async () => {
    const { call, state, registry, time } = await failingWorld();
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
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
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    await call('DELETE', ONE);
    state.fails = false;
    await call('POST', SUBSCRIPTIONS, { subscriber: HOOK });
    expect(jobs.map(({ key }) => key.subscriptionId)).toEqual(['id-2']);
  });
});

describe('a confirmation request that was sent', () => {
  it('stays owed if recording it fails, and its link still works', async ({ dependencies }) => {
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
    expect(await api.call('POST', SUBSCRIPTIONS, { subscriber: HOOK })).toMatchObject({
      status: 201,
      body: { confirmation: 'owed' },
    });
    expect(await api.call('GET', onlyLinkOf(api))).toMatchObject({ status: 200 });
    expect((await api.call('GET', ONE)).body).not.toHaveProperty('confirmation');
  });
});

describe('PUT …/confirm', () => {
  it('revokes a confirmation without sending a confirmation request', async ({ api }) => {
    await api.subscribe();
    expect((await api.call('PUT', `${ONE}/confirm`, { confirmed: false })).status).toBe(204);
    expect((await api.stored()).unconfirmed).toEqual({ at: NOON, tokenHash: expect.any(String) as unknown });
    expect(api.jobs).toEqual([]);
    const change = { change: 'subscription_unconfirmed', queue: 'orders', subscriptionId: 'id-1' };
    expect(api.changes.at(-1)).toMatchObject(change);
  });

  it('confirms a subscription, and is idempotent', async () => {
    const { call, stored, changes, time } = await unconfirmed();
    const confirm = async () => (await call('PUT', `${ONE}/confirm`, { confirmed: true })).status;
    time.now += 5;
    expect(await confirm()).toBe(204);
    const confirmed = await stored();
    expect(confirmed).toMatchObject({ confirmedAt: NOON + 5 });
    expect(confirmed).not.toHaveProperty('unconfirmed');
    const before = changes.length;
    time.now += 5;
    expect(await confirm()).toBe(204);
    expect(await stored()).toEqual(confirmed);
    expect(changes).toHaveLength(before);
  });

  it.for([{}, { confirmed: 'yes' }])('refuses %j', async (body, { call, subscribe }) => {
    await subscribe();
    expect(await call('PUT', `${ONE}/confirm`, body)).toMatchObject(invalid('confirmed'));
  });
});
