import { describe, expect } from 'vitest';
import { addSubscription } from '../../support/add-subscription.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { anAttempt, type DeliveryFields } from '../../support/delivery-builders.ts';
import {
  CALLER,
  HOOK,
  itWithOrders,
  NOON,
  QUEUE,
  recordAll,
  recordMessage,
  refusal,
  SUBSCRIPTIONS,
} from './api-test.ts';

const KEY = { queue: 'orders', messageId: 'message-1', subscriptionId: 'subscription-1', bucket: 0 };
const { queue: _, ...PLACE } = KEY;
const SEND = `${QUEUE}/messages/message-1/deliveries`;
const PATH = `${SEND}/subscription-1`;

const it = itWithOrders
  .extend('message', { auto: true }, async ({ api }) => {
    await addSubscription(api.registry, aSubscription());
    await recordMessage(api, {
      messageId: 'message-1',
      acceptedAt: NOON - 1_000,
      listedAt: NOON - 1_000,
      body: { kind: 'inline', message: aMessage() },
      expiresAt: NOON + 1_000_000,
    });
  })
  .extend(
    'recorded',
    ({ api }) =>
      (delivery: DeliveryFields) =>
        recordAll(api, [{ ...PLACE, acceptedAt: NOON - 1_000, ...delivery }]),
  )
  .extend(
    'post',
    ({ api }) =>
      (action: string, path = PATH) =>
        api.call('POST', `${path}/${action}`),
  );

const next = { number: 2, phase: 'backoff', dueAt: NOON + 60_000, by: 'scheduler' } as const;

describe('POST …/retry', () => {
  it('makes the next attempt due now, and sends a wake-up', async ({ post, recorded, wakeUps, changes }) => {
    await recorded({ status: 'retrying', attempts: [anAttempt()], next, overdueAt: next.dueAt });
    const nextAttempt = { number: 2, phase: 'manual' };
    expect(await post('retry')).toMatchObject({
      status: 202,
      body: { status: 'retrying', nextAttemptAt: '2026-11-21T12:00:00.000Z', nextAttempt },
    });
    expect(wakeUps).toMatchObject([{ key: KEY, attempt: 2, dueAt: NOON }]);
    const { bucket: _bucket, ...names } = KEY;
    expect(changes).toEqual([{ ...CALLER, change: 'delivery_retried', ...names, round: 1 }]);
  });

  it('gives a delivery that has ended another round', async ({ post, recorded, deliveries }) => {
    await recorded({ status: 'rejected', reason: 'http_404', attempts: [anAttempt()] });
    const nextAttempt = { number: 2, phase: 'manual' };
    expect(await post('retry')).toMatchObject({ status: 202, body: { status: 'retrying', nextAttempt } });
    expect(await deliveries.find(KEY)).toMatchObject({ round: 2, status: 'retrying' });
  });

  it.for<[string, DeliveryFields]>([
    ['while an attempt is in flight', { status: 'retrying', lease: { owner: 'me', until: NOON + 1 }, next }],
    ['before the first attempt', { status: 'pending', lease: { owner: 'me', until: NOON - 1 } }],
    ['while it has pending steps', { status: 'exhausted', pendingSteps: [{ kind: 'undeliverable' }] }],
  ])('answers 409 %s', async ([, delivery], { post, recorded, wakeUps, changes }) => {
    await recorded(delivery);
    expect(await post('retry')).toMatchObject(refusal('conflict'));
    expect([wakeUps, changes]).toEqual([[], []]);
  });
});

it.for([
  ['retry', 'disabled; enable it first', 'POST', '/disable'],
  ['send', 'disabled; enable it first', 'POST', '/disable'],
  ['retry', 'deleted, or never existed', 'DELETE', ''],
  ['send', 'deleted, or never existed', 'DELETE', ''],
] as const)('POST …/%s says with 409 that the subscription is %s', async (row, { call, post, recorded }) => {
  const [action, state, method, verb] = row;
  await recorded({ status: 'exhausted' });
  await call(method, `${SUBSCRIPTIONS}/subscription-1${verb}`);
  const error = { code: 'conflict', message: `the subscription is ${state}` };
  expect(await post(action)).toMatchObject({ status: 409, body: { error } });
});

describe('POST …/send', () => {
  it('gives a delivered message another round, and names the caller', async ({ post, recorded, changes }) => {
    await recorded({ status: 'delivered', attempts: [anAttempt({ outcome: 'delivered' })] });
    const nextAttempt = { number: 2, phase: 'manual' };
    expect(await post('send')).toMatchObject({ status: 202, body: { status: 'retrying', nextAttempt } });
    expect(changes).toMatchObject([{ ...CALLER, change: 'delivery_sent', round: 2 }]);
  });

  it('makes a delivery for a subscription that has none', async ({ api, post }) => {
    await addSubscription(api.registry, aSubscription({ id: 'newer', subscriber: HOOK, createdAt: NOON }));
    const body = { messageId: 'message-1', subscriptionId: 'newer', status: 'pending', attempts: [] };
    expect(await post('send', `${SEND}/newer`)).toMatchObject({ status: 202, body });
    expect(api.wakeUps).toMatchObject([{ key: { subscriptionId: 'newer' }, attempt: 1, dueAt: NOON }]);
    expect(api.changes).toMatchObject([{ change: 'delivery_sent', subscriptionId: 'newer', round: 1 }]);
  });

  it('names the setting where the body is not kept', async ({ call, post, recorded }) => {
    await call('DELETE', `${QUEUE}/messages/message-1/body`);
    await recorded({ status: 'delivered' });
    const { status, body } = await post('send');
    expect(status).toBe(409);
    expect(JSON.stringify(body)).toMatch(
      /when it was accepted only bodies of failed messages were kept\. Publish it again under a new id.*filtered.* set `_retain_messages` of the queue.*`retainMessages`, to `all`/,
    );
  });

  it('answers 409 while it is open, and for an unknown subscription', async ({ api, post, recorded }) => {
    await recorded({ status: 'retrying', attempts: [anAttempt()], next });
    for (const id of ['subscription-1', 'other'])
      expect(await post('send', `${SEND}/${id}`)).toMatchObject(refusal('conflict'));
    expect(api.wakeUps).toEqual([]);
  });
});

describe('POST …/cancel', () => {
  it('ends the delivery, and names the caller in the audit trail', async ({ post, recorded, changes }) => {
    await recorded({ status: 'retrying', attempts: [anAttempt()], next, overdueAt: next.dueAt });
    const body = { status: 'cancelled', reason: 'manual' };
    expect(await post('cancel')).toMatchObject({ status: 200, body });
    expect(changes).toMatchObject([{ ...CALLER, change: 'delivery_cancelled', messageId: 'message-1' }]);
  });

  it('ends a delivery whose first attempt has not begun', async ({ post, deliveries }) => {
    expect(await post('cancel')).toMatchObject({ status: 200 });
    expect(await deliveries.find(KEY)).toMatchObject({ status: 'cancelled', attempts: [] });
  });

  it('answers 409 if the delivery has ended', async ({ post, recorded }) => {
    await recorded({ status: 'delivered' });
    expect(await post('cancel')).toMatchObject(refusal('conflict'));
  });
});

it.for(['retry', 'cancel'])(
  'POST …/%s is 404 without a delivery',
  async (action, { post, wakeUps, changes }) => {
    expect(await post(action, `${SEND}/other`)).toMatchObject(refusal('not_found'));
    expect([wakeUps, changes]).toEqual([[], []]);
  },
);
