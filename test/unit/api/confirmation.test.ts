import { describe, expect, vi } from 'vitest';
import { z } from 'zod';
import type { DeliveryJob } from '../../../shared/domain/delivery/job.ts';
import {
  apiUnderTest,
  CALLER,
  HOOK,
  invalid,
  it as apiIt,
  NOON,
  ONE,
  PUBLIC_URL,
  QUEUE,
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

/** A queue that requires confirmation. */
const strictApi = async () => {
  const api = apiUnderTest();
  await api.call('PUT', QUEUE, { _confirm_subscriptions: true });
  return api;
};

describe('a new subscription', () => {
  apiIt('is confirmed where that is not required, also after its subscriber changes', async ({ api }) => {
    expect((await api.subscribe()).body).not.toHaveProperty('confirmation');
    const shown = await api.get(ONE);
    expect(shown).toMatchObject({ confirmed: true });
    expect(shown).not.toHaveProperty('confirmation');
    await api.patch({ subscriber: `${HOOK}/2` });
    expect(await api.get(ONE)).toMatchObject({ confirmed: true });
    expect(api.jobs).toEqual([]);
  });

  apiIt('waits for confirmation on every queue if the deployment requires it', async ({ dependencies }) => {
    const settings = { ...dependencies.settings, subscriptionConfirmation: true };
    const { get, subscribe, jobs } = apiUnderTest({ settings });
    await subscribe();
    expect(await get(ONE)).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(1);
  });
});

/** `unconfirmed`: the first subscription of a queue that requires confirmation, which waits for it. */
const it = apiIt.extend('api', strictApi).extend('unconfirmed', { auto: true }, ({ api }) => api.subscribe());

describe('a subscription of a queue that requires confirmation', () => {
  it('waits for it', async ({ get, jobs, messageRecords }) => {
    expect(await get(ONE)).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(1);
    const message = messageOf(jobs[0]);
    expect(message).toMatchObject({
      queue: 'orders',
      type: 'posthaste.subscription_confirmation',
      timestamp: '2026-11-21T12:00:00.000Z',
    });
    const key = { queue: 'orders', messageId: message.id };
    expect(jobs[0]?.key).toEqual({ ...key, subscriptionId: 'id-1', bucket: 0 });
    expect(await messageRecords.find(key)).toMatchObject({ matched: 1, filtered: 0, buckets: 1 });
  });

  it('has a unique token, which is only in the link', async ({ subscribe, stored, jobs, changes }) => {
    await subscribe({ subscriber: `${HOOK}/2` });
    const [first, second] = jobs.map((job) => /token=(.*)/.exec(linkOf(job))?.[1]);
    expect(first).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(second).not.toBe(first);
    expect(JSON.stringify([await stored(), jobs.map(({ key }) => key), changes])).not.toContain(first);
  });
});

describe.each(['GET', 'POST'])('%s …/confirm', (method) => {
  it('is redacted in the stored message of a failed request', async ({ call, jobs, messageRecords }) => {
    const message = messageOf(jobs[0]);
    const { confirmUrl: link } = requestData.parse(JSON.parse(message.data));
    const key = { queue: 'orders', messageId: message.id };
    await messageRecords.keepBody({ key, acceptedAt: NOON }, { kind: 'inline', message }, NOON + 86_400_000);
    const { body } = await call('GET', `/v2/queues/orders/messages/${message.id}`);
    expect(body).toMatchObject({ body: { queue: 'orders', subscriptionId: 'id-1', confirmUrl: '***' } });
    expect(JSON.stringify(body)).not.toContain(link);
  });

  it('confirms once with the token of the link', async ({ call, get, jobs, changes }) => {
    const link = linkOf(jobs[0]);
    expect(await call(method, link)).toMatchObject({ status: 200, body: { confirmed: true } });
    expect(await get(ONE)).toMatchObject({ confirmed: true });
    const confirmed = { change: 'subscription_confirmed', queue: 'orders', subscriptionId: 'id-1' };
    expect(changes.at(-1)).toEqual({ ...CALLER, ...confirmed });
    expect(await call(method, link)).toMatchObject({ status: 404 });
  });

  it.for<[string, (link: string) => string]>([
    ['a guessed token', (link) => `${link.slice(0, -43)}${'A'.repeat(43)}`],
    ['a token cut short', (link) => link.slice(0, -1)],
    ['a token with more behind it', (link) => `${link}A`],
    ['no token', (link) => link.slice(0, link.indexOf('?'))],
    ['an empty token', (link) => link.slice(0, link.indexOf('=') + 1)],
    ['a very long token', (link) => `${link}${'A'.repeat(4000)}`],
    ['another queue', (link) => link.replace('orders', 'bills')],
    ['an invalid queue name', (link) => link.replace('orders', 'a%20b')],
    ['another subscription', (link) => link.replace('id-1', 'id-2')],
    ['an invalid subscription id', (link) => link.replace('id-1', 'a%20b')],
  ])('answers the same 404 to %s, and changes nothing', async ([, changed], { call, jobs, world }) => {
    const before = await world();
    const answer = await call(method, changed(linkOf(jobs[0])));
    expect(answer).toMatchObject(refusal('not_found'));
    expect(await world()).toEqual(before);
    const nothing = await call(method, '/v2/queues/none/subscriptions/none/confirm?token=x');
    expect(answer.body).toEqual(nothing.body);
  });

  it('answers 404 for a deleted or expired subscription', async ({ call, subscribe, jobs, time }) => {
    await subscribe({ subscriber: `${HOOK}/2`, ttl: 60 });
    await call('DELETE', ONE);
    time.now += 60_000;
    for (const job of jobs) expect(await call(method, linkOf(job))).toMatchObject({ status: 404 });
    expect(jobs).toHaveLength(2);
  });
});

describe('a change of the subscriber', () => {
  it('requires a new confirmation, and invalidates earlier links', async ({ call, patch, jobs }) => {
    await call('GET', linkOf(jobs[0]));
    expect((await patch({ subscriber: `${HOOK}/2` })).body).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(2);
    expect(await call('GET', linkOf(jobs[0]))).toMatchObject({ status: 404 });
    expect(await call('GET', linkOf(jobs[1]))).toMatchObject({ status: 200 });
  });

  it('to the same URL sends the request again only while unconfirmed', async ({ call, get, patch, jobs }) => {
    await patch({ subscriber: HOOK });
    expect(jobs).toHaveLength(2);
    expect(await call('GET', linkOf(jobs[0]))).toMatchObject({ status: 404 });
    await call('GET', linkOf(jobs[1]));
    await patch({ subscriber: `${HOOK}#same` });
    await patch({ ttl: 60, options: {} });
    expect(await get(ONE)).toMatchObject({ confirmed: true });
    expect(jobs).toHaveLength(2);
  });

  it('keeps the time of the first request', async ({ patch, stored, time, jobs }) => {
    time.now += 60_000;
    await patch({ subscriber: `${HOOK}/2` });
    expect(jobs).toHaveLength(2);
    expect(await stored()).toMatchObject({ unconfirmed: { at: NOON } });
  });

  it('still requires confirmation if the queue no longer does', async ({ call, patch, jobs }) => {
    await call('PUT', QUEUE, {});
    expect((await patch({ subscriber: `${HOOK}/2` })).body).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(2);
  });
});

const IMPORT = `${QUEUE}/import`;
const LINE = { subscriber: HOOK };

const aSecret: unknown = expect.stringMatching(/^whsec_/);

/** A queue that requires confirmation, and a delivery queue that fails until `recovers`. */
const failing = apiIt.extend('api', strictApi).extend('recovers', { auto: true }, ({ api }) => {
  const sending = vi.spyOn(api.dependencies.deliveryQueue, 'send');
  sending.mockRejectedValue(new Error('SQS does not respond'));
  return () => {
    sending.mockRestore();
  };
});

const onlyLinkOf = (jobs: readonly DeliveryJob[]): string => {
  expect(jobs).toHaveLength(1);
  return linkOf(jobs[0]);
};

describe('a confirmation request that could not be sent', () => {
  const it = failing;

  it('does not fail the subscribe call, whose response says that it is owed', async ({ api }) => {
    const note = vi.spyOn(api.dependencies.journal, 'note');
    expect(await api.subscribe()).toMatchObject({
      status: 201,
      body: { subscription_id: 'id-1', secret: aSecret, confirmation: 'owed' },
    });
    expect(await api.get(ONE)).toMatchObject({ confirmed: false, confirmation: 'owed' });
    expect(api.changes.map(({ change }) => change)).toEqual(['queue_created', 'subscription_created']);
    expect(api.faults).toEqual([]);
    const fact = { fact: 'confirmation_not_sent', queue: 'orders', subscriptionId: 'id-1' };
    expect(note.mock.calls).toEqual([[expect.objectContaining(fact)]]);
  });

  it('is tried after the change is on the audit trail', async ({ api }) => {
    const seen: unknown[] = [];
    vi.spyOn(api.dependencies.deliveryQueue, 'send').mockImplementation(() => {
      seen.push(api.changes.at(-1)?.change);
      return Promise.reject(new Error('SQS does not respond'));
    });
    await api.subscribe();
    await api.patch({ subscriber: `${HOOK}/2` });
    await api.call('POST', IMPORT, { subscriber: `${HOOK}/3` });
    expect(seen).toEqual(['subscription_created', 'subscription_changed', 'subscription_imported']);
  });

  it.for<[string, string, string, object, number]>([
    ['the same POST, which is still a conflict', 'POST', SUBSCRIPTIONS, { subscriber: HOOK }, 409],
    ['a PATCH with the same subscriber', 'PATCH', ONE, { subscriber: HOOK }, 200],
    ['an import of the same subscription', 'POST', IMPORT, { subscriber: HOOK }, 200],
    ['an import that replaces it', 'POST', `${IMPORT}?replace=true`, { subscriber: HOOK, ttl: 60 }, 200],
  ])(
    'is sent again by %s',
    async ([, method, path, body, status], { call, get, subscribe, jobs, recovers }) => {
      await subscribe();
      recovers();
      expect(await call(method, path, body)).toMatchObject({ status });
      expect(await get(ONE)).toMatchObject({ confirmed: false, confirmation: 'asked' });
      expect(await call('GET', onlyLinkOf(jobs))).toMatchObject({ status: 200 });
      expect(await get(ONE)).toMatchObject({ confirmed: true });
    },
  );

  it('is sent only once by repeated requests', async ({ call, subscribe, jobs, recovers }) => {
    await subscribe();
    recovers();
    expect(await call('POST', IMPORT, LINE)).toMatchObject({ body: { unchanged: 1 } });
    await call('POST', IMPORT, LINE);
    expect(await subscribe()).toMatchObject(refusal('conflict', 'subscriber'));
    expect(await call('GET', onlyLinkOf(jobs))).toMatchObject({ status: 200 });
  });

  it('stays owed after an import, which imports the line', async ({ call, get }) => {
    const body = { imported: 1, failed: [] };
    expect(await call('POST', IMPORT, LINE)).toMatchObject({ status: 200, body });
    expect(await get(ONE)).toMatchObject({ confirmation: 'owed' });
  });

  it('stays owed after a change of the subscriber, which takes effect', async ({ subscribe, patch }) => {
    await subscribe();
    const body = { subscriber: `${HOOK}/2`, confirmed: false, confirmation: 'owed' };
    expect(await patch({ subscriber: `${HOOK}/2` })).toMatchObject({ status: 200, body });
  });

  it('keeps the time since which the confirmation is pending', async ({ api, recovers }) => {
    await api.subscribe();
    api.time.now += 60_000;
    recovers();
    await api.call('POST', IMPORT, LINE);
    expect(await api.stored()).toMatchObject({ unconfirmed: { at: NOON } });
  });

  it('is not sent for a deleted subscription', async ({ call, subscribe, jobs, recovers }) => {
    await subscribe();
    await call('DELETE', ONE);
    recovers();
    await subscribe();
    expect(jobs.map(({ key }) => key.subscriptionId)).toEqual(['id-2']);
  });
});

apiIt(
  'a confirmation request stays owed if recording that it was sent fails, and its link works',
  async () => {
    const { call, get, subscribe, registry, jobs } = await strictApi();
    const change = registry.changeSubscription.bind(registry);
    // The first write stores the token, the second one records that the request was sent.
    const writes = vi.spyOn(registry, 'changeSubscription');
    writes.mockImplementationOnce(change).mockRejectedValueOnce(new Error('throttled'));
    expect(await subscribe()).toMatchObject({ status: 201, body: { confirmation: 'owed' } });
    expect(await call('GET', onlyLinkOf(jobs))).toMatchObject({ status: 200 });
    expect(await get(ONE)).not.toHaveProperty('confirmation');
  },
);

describe('PUT …/confirm', () => {
  apiIt('revokes a confirmation without sending a confirmation request', async ({ api }) => {
    await api.subscribe();
    expect((await api.call('PUT', `${ONE}/confirm`, { confirmed: false })).status).toBe(204);
    expect((await api.stored()).unconfirmed).toEqual({ at: NOON, tokenHash: expect.any(String) as unknown });
    expect(api.jobs).toEqual([]);
    const change = { change: 'subscription_unconfirmed', queue: 'orders', subscriptionId: 'id-1' };
    expect(api.changes.at(-1)).toMatchObject(change);
  });

  it('confirms a subscription, and is idempotent', async ({ call, stored, changes, time }) => {
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

  it.for([{}, { confirmed: 'yes' }])('refuses %j', async (body, { call }) => {
    expect(await call('PUT', `${ONE}/confirm`, body)).toMatchObject(invalid('confirmed'));
  });
});
