import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { DeliveryJob } from '../../../shared/domain/delivery/job.ts';
import { apiUnderTest, CALLER, faultOf, NOON, PUBLIC_URL } from './api-under-test.ts';

const HOOK = 'https://hooks.example/orders';
const PATH = '/v2/queues/orders/subscriptions';
const ONE = `${PATH}/id-1`;

const question = z.object({ queue: z.string(), subscriptionId: z.string(), confirmUrl: z.string() });

const messageOf = (job: DeliveryJob | undefined) => {
  if (job?.body.kind !== 'inline') throw new Error('no message was sent');
  return job.body.message;
};

/** The path and token of the link that a job carries. */
const linkOf = (job: DeliveryJob | undefined): string => {
  const { confirmUrl } = question.parse(JSON.parse(messageOf(job).data));
  expect(confirmUrl.startsWith(`${PUBLIC_URL}/v2/queues/`)).toBe(true);
  return confirmUrl.slice(PUBLIC_URL.length);
};

/** A queue that asks, with one subscriber that was asked. */
const asking = async (fields: object = {}) => {
  const api = apiUnderTest();
  await api.call('PUT', '/v2/queues/orders', { _confirm_subscriptions: true });
  await api.call('POST', PATH, { subscriber: HOOK, ...fields });
  return api;
};

describe('a new subscription', () => {
  it('is confirmed where nobody asks', async () => {
    const { call, jobs } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmed: true });
    expect(jobs).toEqual([]);
  });

  it('waits for its subscriber where the queue asks', async () => {
    const { call, jobs, messageRecords } = await asking();
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

  it('waits on every queue where the deployment asks', async () => {
    const { dependencies } = apiUnderTest();
    const { call, jobs } = apiUnderTest({
      settings: { ...dependencies.settings, subscriptionConfirmation: true },
    });
    await call('POST', PATH, { subscriber: HOOK });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(1);
  });

  it('has a token of its own, which is nowhere but in the link', async () => {
    const { call, jobs, registry, changes } = await asking();
    await call('POST', PATH, { subscriber: `${HOOK}/2` });
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
  it('is not shown in its message, whose data is kept where the request failed', async () => {
    const { call, jobs, messageRecords } = await asking();
    const message = messageOf(jobs[0]);
    const { confirmUrl: link } = question.parse(JSON.parse(message.data));
    const key = { queue: 'orders', messageId: message.id };
    await messageRecords.keepBody({ key, acceptedAt: NOON }, { kind: 'inline', message }, NOON + 86_400_000);
    const { body } = await call('GET', `/v2/queues/orders/messages/${message.id}`);
    expect(body).toMatchObject({
      body: { queue: 'orders', subscriptionId: 'id-1', confirmUrl: '***' },
    });
    expect(JSON.stringify(body)).not.toContain(link);
  });

  it('confirms by the token of the link, once', async () => {
    const { call, jobs, changes } = await asking();
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
    ['a token without end', (link: string) => `${link}${'A'.repeat(4000)}`],
    ['another queue', (link: string) => link.replace('orders', 'bills')],
    ['a queue of no valid name', (link: string) => link.replace('orders', 'a%20b')],
    ['another subscription', (link: string) => link.replace('id-1', 'id-2')],
    ['a subscription of no valid id', (link: string) => link.replace('id-1', 'a%20b')],
  ])('answers the same 404 to %s, and changes nothing', async (_name, changed) => {
    const { call, jobs, world } = await asking();
    const before = await world();
    const answer = await call(method, changed(linkOf(jobs[0])));
    expect(answer).toMatchObject({ status: 404, body: faultOf('not_found') });
    expect(await world()).toEqual(before);
    const nothing = await call(method, '/v2/queues/none/subscriptions/none/confirm?token=x');
    expect(answer.body).toEqual(nothing.body);
  });

  it('answers 404 for one that was deleted or expired meanwhile', async () => {
    const { call, jobs, time } = await asking({ ttl: 60 });
    await call('POST', PATH, { subscriber: `${HOOK}/2` });
    const [expired, deleted] = jobs.map(linkOf);
    await call('DELETE', `${PATH}/id-2`);
    time.now += 60_000;
    expect(await call(method, expired ?? '')).toMatchObject({ status: 404 });
    expect(await call(method, deleted ?? '')).toMatchObject({ status: 404 });
  });
});

describe('a change of the subscriber', () => {
  it('is asked for anew, and no link to the old one counts any more', async () => {
    const { call, jobs } = await asking();
    await call('GET', linkOf(jobs[0]));
    expect((await call('PATCH', ONE, { subscriber: `${HOOK}/2` })).body).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(2);
    expect(await call('GET', linkOf(jobs[0]))).toMatchObject({ status: 404 });
    expect(await call('GET', linkOf(jobs[1]))).toMatchObject({ status: 200 });
  });

  it('that is none asks again where the subscriber has not answered, and nowhere else', async () => {
    const { call, jobs } = await asking();
    await call('PATCH', ONE, { subscriber: HOOK });
    expect(jobs).toHaveLength(2);
    expect(await call('GET', linkOf(jobs[0]))).toMatchObject({ status: 404 });
    await call('GET', linkOf(jobs[1]));
    await call('PATCH', ONE, { subscriber: `${HOOK}#same` });
    await call('PATCH', ONE, { ttl: 60, options: {} });
    expect((await call('GET', ONE)).body).toMatchObject({ confirmed: true });
    expect(jobs).toHaveLength(2);
  });

  it('that never said yes is unconfirmed since it was asked first', async () => {
    const { call, registry, time, jobs } = await asking();
    time.now += 60_000;
    await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect(jobs).toHaveLength(2);
    expect(await registry.findSubscription('orders', 'id-1')).toMatchObject({ unconfirmed: { at: NOON } });
  });

  it('is not asked for where nobody asks', async () => {
    const { call, jobs } = apiUnderTest();
    await call('POST', PATH, { subscriber: HOOK });
    await call('PATCH', ONE, { subscriber: `${HOOK}/2` });
    expect(jobs).toEqual([]);
  });

  it('does not get round the question by dropping it from the queue', async () => {
    const { call, jobs } = await asking();
    await call('PUT', '/v2/queues/orders', {});
    expect((await call('PATCH', ONE, { subscriber: `${HOOK}/2` })).body).toMatchObject({ confirmed: false });
    expect(jobs).toHaveLength(2);
  });
});

describe('a wish for confirmation', () => {
  it.each(['yes', 1, null])('that is %j is refused', async (wish) => {
    const { call } = apiUnderTest();
    expect(await call('PUT', '/v2/queues/orders', { _confirm_subscriptions: wish })).toMatchObject({
      status: 400,
      body: faultOf('invalid_request', '_confirm_subscriptions'),
    });
  });
});
