import { beforeEach, describe, expect, it } from 'vitest';
import { aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { anAttempt, type DeliveryFields } from '../../support/delivery-builders.ts';
import { type Api, apiUnderTest, CALLER, NOON, recordAll, recordMessage, refusal } from './api-under-test.ts';

const KEY = { queue: 'orders', messageId: 'message-1', subscriptionId: 'subscription-1', bucket: 0 };
const PATH = '/v2/queues/orders/messages/message-1/deliveries/subscription-1';

let api: Api;

beforeEach(async () => {
  api = apiUnderTest();
  await api.registry.putQueue(aQueue());
  await api.registry.addSubscription(aSubscription());
  await recordMessage(api, {
    messageId: 'message-1',
    acceptedAt: NOON - 1_000,
    listedAt: NOON - 1_000,
    body: { kind: 'inline', message: aMessage() },
    expiresAt: NOON + 1_000_000,
  });
});

const { queue: _, ...PLACE } = KEY;

const recorded = (delivery: DeliveryFields) =>
  recordAll(api, [{ ...PLACE, acceptedAt: NOON - 1_000, ...delivery }]);

const next = { number: 2, phase: 'backoff', dueAt: NOON + 60_000, by: 'scheduler' } as const;

describe('POST …/retry', () => {
  it('makes the next attempt due now, and sends a wake-up', async () => {
    await recorded({ status: 'retrying', attempts: [anAttempt()], next, overdueAt: next.dueAt });

    expect(await api.call('POST', `${PATH}/retry`)).toMatchObject({
      status: 202,
      body: {
        status: 'retrying',
        nextAttemptAt: '2026-11-21T12:00:00.000Z',
        nextAttempt: { number: 2, phase: 'manual' },
      },
    });
    expect(api.wakeUps).toMatchObject([{ key: KEY, attempt: 2, dueAt: NOON }]);
    expect(api.changes).toEqual([
      {
        ...CALLER,
        change: 'delivery_retried',
        queue: 'orders',
        messageId: 'message-1',
        subscriptionId: 'subscription-1',
        round: 1,
      },
    ]);
  });

  it('gives a delivery that has ended another round', async () => {
    await recorded({ status: 'rejected', reason: 'http_404', attempts: [anAttempt()] });

    expect(await api.call('POST', `${PATH}/retry`)).toMatchObject({
      status: 202,
      body: { status: 'retrying', nextAttempt: { number: 2, phase: 'manual' } },
    });
    expect(await api.deliveries.find(KEY)).toMatchObject({ round: 2, status: 'retrying' });
  });

  it.each([
    ['while an attempt is in flight', { status: 'retrying', lease: { owner: 'me', until: NOON + 1 }, next }],
    ['before the first attempt', { status: 'pending', lease: { owner: 'me', until: NOON - 1 } }],
    ['while it has pending steps', { status: 'exhausted', pendingSteps: [{ kind: 'undeliverable' }] }],
  ] satisfies [string, DeliveryFields][])('answers 409 %s', async (_, delivery) => {
    await recorded(delivery);

    expect(await api.call('POST', `${PATH}/retry`)).toMatchObject(refusal('conflict'));
    expect(api.wakeUps).toEqual([]);
    expect(api.changes).toEqual([]);
  });
});

describe.each(['retry', 'send'])('POST …/%s', (action) => {
  const ONE = '/v2/queues/orders/subscriptions/subscription-1';

  it.each([
    ['disabled; enable it first', 'POST', `${ONE}/disable`],
    ['deleted', 'DELETE', ONE],
  ] as const)('says with 409 that the subscription is %s', async (state, method, path) => {
    await recorded({ status: 'exhausted' });
    await api.call(method, path);

    expect(await api.call('POST', `${PATH}/${action}`)).toMatchObject({
      status: 409,
      body: { error: { code: 'conflict', message: `the subscription is ${state}` } },
    });
  });
});

describe('POST …/send', () => {
  const SEND = '/v2/queues/orders/messages/message-1/deliveries';

  it('gives a delivered message another round, and names the caller in the audit trail', async () => {
    await recorded({ status: 'delivered', attempts: [anAttempt({ outcome: 'delivered' })] });

    expect(await api.call('POST', `${PATH}/send`)).toMatchObject({
      status: 202,
      body: { status: 'retrying', nextAttempt: { number: 2, phase: 'manual' } },
    });
    expect(api.changes).toMatchObject([{ ...CALLER, change: 'delivery_sent', round: 2 }]);
  });

  it('makes a delivery for a subscription that has none', async () => {
    await recorded({ status: 'delivered' });
    await api.registry.addSubscription(
      aSubscription({ id: 'newer', subscriber: 'https://newer.test/', createdAt: NOON }),
    );

    expect(await api.call('POST', `${SEND}/newer/send`)).toMatchObject({
      status: 202,
      body: { messageId: 'message-1', subscriptionId: 'newer', status: 'pending', attempts: [] },
    });
    expect(api.wakeUps).toMatchObject([{ key: { subscriptionId: 'newer' }, attempt: 1, dueAt: NOON }]);
    expect(api.changes).toMatchObject([{ change: 'delivery_sent', subscriptionId: 'newer', round: 1 }]);
  });

  it('names the setting where the body is not kept', async () => {
    await api.call('DELETE', '/v2/queues/orders/messages/message-1/body');
    await recorded({ status: 'delivered' });

    const { status, body } = await api.call('POST', `${PATH}/send`);
    expect(status).toBe(409);
    expect(JSON.stringify(body)).toMatch(/_retain_messages.*retainMessages/);
  });

  it('answers 409 while the delivery is open, and for an unknown subscription', async () => {
    await recorded({ status: 'retrying', attempts: [anAttempt()], next });

    for (const id of ['subscription-1', 'other'])
      expect(await api.call('POST', `${SEND}/${id}/send`)).toMatchObject(refusal('conflict'));
    expect(api.wakeUps).toEqual([]);
  });
});

describe('POST …/cancel', () => {
  it('ends the delivery, and names the caller in the audit trail', async () => {
    await recorded({ status: 'retrying', attempts: [anAttempt()], next, overdueAt: next.dueAt });

    expect(await api.call('POST', `${PATH}/cancel`)).toMatchObject({
      status: 200,
      body: { status: 'cancelled', reason: 'manual' },
    });
    expect(api.changes).toMatchObject([{ change: 'delivery_cancelled', messageId: 'message-1' }]);
  });

  it('ends a delivery whose first attempt has not begun', async () => {
    expect((await api.call('POST', `${PATH}/cancel`)).status).toBe(200);
    expect(await api.deliveries.find(KEY)).toMatchObject({ status: 'cancelled', attempts: [] });
  });

  it('answers 409 if the delivery has ended', async () => {
    await recorded({ status: 'delivered' });

    expect(await api.call('POST', `${PATH}/cancel`)).toMatchObject(refusal('conflict'));
  });
});

it.each(['retry', 'cancel'])('POST …/%s is 404 for a subscription without a delivery', async (action) => {
  const path = PATH.replace('subscription-1', 'other');
  expect(await api.call('POST', `${path}/${action}`)).toMatchObject(refusal('not_found'));
  expect([api.changes, api.wakeUps]).toEqual([[], []]);
});
