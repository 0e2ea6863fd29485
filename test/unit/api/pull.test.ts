import { createSecretKey } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { aMessage, aSubscription } from '../../support/builders.ts';
import { faultOf } from './api-under-test.ts';
import { PATH, pullWorld, type PullWorld } from './pull-world.ts';
import { requestFor } from '../../support/request-for.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let world: PullWorld;

beforeEach(async () => {
  world = await pullWorld();
});

describe('a delivery of a pull subscription', () => {
  it('waits on record with its message, and no request is made', async () => {
    await world.publish();
    await world.clock.run();
    const delivery = await world.delivery();
    expect(delivery).toMatchObject({
      status: 'pending',
      attempts: [],
      next: { number: 1, phase: 'initial', by: 'pull' },
    });
    expect(delivery.lease).toBeUndefined();
    expect((await world.messageRecords.find(delivery.key))?.body).toBeDefined();
    expect(world.subscriber.seen).toEqual([]);
    expect(await world.deliveries.overdue(Infinity, 10)).toEqual([]);
  });

  it('is listed, shown and explained as one that waits', async () => {
    await world.publish();
    const waiting = { status: 'pending', waiting: 'pull' };
    const message = '/v2/queues/orders/messages/message-1';
    expect((await world.call('GET', '/v2/queues/orders/deliveries?status=pending')).body).toMatchObject({
      deliveries: [waiting],
    });
    expect((await world.call('GET', `${message}/deliveries/subscription-1`)).body).toMatchObject({
      status: 'pending',
      nextAttempt: { waiting: 'pull', by: 'pull' },
    });
    expect((await world.call('GET', `${message}/explain`)).body).toMatchObject({
      subscriptions: [{ verdict: 'pending', detail: 'It waits until its subscriber receives it.' }],
    });
  });

  it('is received with the body and the headers of a push, and delivered once acknowledged', async () => {
    await world.publish();
    await world.later(MINUTE);
    const received = await world.receiveOne({ lease_seconds: 30 });
    const now = world.clock.now();
    const push = await requestFor(aMessage(), aSubscription(), {
      startedAt: now,
      userAgent: 'Posthaste/test',
      secrets: [{ scheme: 'v1', key: createSecretKey(Buffer.alloc(32, 7)) }],
    });
    expect(received).toEqual({
      receipt: received.receipt,
      messageId: 'message-1',
      attempt: 1,
      leaseUntil: new Date(now + 30_000).toISOString(),
      headers: push.headers,
      body: push.body.toString(),
    });
    await world.later(2_000);
    expect((await world.ack(received)).status).toBe(204);
    const delivery = await world.delivery();
    expect(delivery).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, phase: 'initial', startedAt: now, durationMs: 2_000, outcome: 'delivered' }],
    });
    expect([delivery.lease, delivery.next, delivery.overdueAt]).toEqual([undefined, undefined, undefined]);
    expect(await world.receive()).toEqual([]);
  });

  it('is received once while its lease lasts', async () => {
    await world.publish();
    await world.receiveOne();
    expect(await world.receive()).toEqual([]);
    await world.later(59_000);
    expect(await world.receive()).toEqual([]);
  });

  it('is received by one of two that ask at the same time', async () => {
    await world.publish();
    const both = await Promise.all([world.receive(), world.receive()]);
    expect(both.flat()).toHaveLength(1);
  });

  it('comes in the order of its waiting, up to `max` at a time', async () => {
    for (const id of ['one', 'two', 'three']) {
      await world.publish({ id });
      await world.later(10);
    }
    const first = await world.receive({ max: 2 });
    const rest = await world.receive({ max: 2 });
    expect([first, rest].map((some) => some.map(({ messageId }) => messageId))).toEqual([
      ['one', 'two'],
      ['three'],
    ]);
  });

  it('is retried by the policy after a nack, and undeliverable in the end', async () => {
    await world.publish();
    for (const attempt of [1, 2, 3]) {
      expect(await world.nack(await world.receiveOne(), 'disk full')).toMatchObject({ status: 204 });
      if (attempt < 3) {
        await world.later(4_999);
        expect(await world.receive()).toEqual([]);
        await world.later(1);
      }
    }
    await world.clock.run();
    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: 'exhausted', reason: 'retries_exhausted', pendingSteps: [] });
    const refused = { kind: 'refused', detail: 'disk full' };
    expect(delivery.attempts.map(({ phase, outcome, result }) => [phase, outcome, result])).toEqual([
      ['initial', 'failed', refused],
      ['pre_backoff', 'failed', refused],
      ['pre_backoff', 'failed', refused],
    ]);
    expect(world.undeliverables.sent).toHaveLength(1);
    expect(world.operatorEvents.published.map(({ type }) => type)).toEqual(['delivery.exhausted']);
  });

  it('has failed once its lease has lapsed, which reconcile notices although no subscriber asks', async () => {
    await world.publish();
    const { receipt } = await world.receiveOne({ lease_seconds: 60 });
    await world.later(91_000);
    await world.reconcile();
    await world.clock.run();
    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: 'retrying', lost: 0, next: { number: 2, by: 'pull' } });
    expect(delivery.attempts).toMatchObject([
      { number: 1, outcome: 'failed', result: { kind: 'lapsed' }, durationMs: 60_000 },
    ]);
    expect(world.journal.facts.filter(({ fact }) => fact === 'reconciled')).toEqual([]);
    expect(await world.receiveOne()).toMatchObject({ messageId: 'message-1', attempt: 2 });
    expect(await world.ack({ receipt })).toMatchObject({ status: 409, body: faultOf('conflict') });
  });

  it('is not called stuck by reconcile after a long lease', async () => {
    await world.publish();
    await world.later(HOUR);
    await world.receiveOne({ lease_seconds: 3600 });
    await world.later(HOUR + 31_000);
    await world.reconcile();
    expect(world.journal.facts.findLast(({ fact }) => fact === 'reconcile_ran')).toMatchObject({ stuck: 0 });
  });

  it('has no lateness, as its subscriber decides when it is received', async () => {
    await world.publish();
    await world.later(HOUR);
    await world.ack(await world.receiveOne());
    const [made] = world.journal.facts.filter(({ fact }) => fact === 'attempt_made');
    expect(made).toMatchObject({ status: 'delivered' });
    expect(made).not.toHaveProperty('latenessMs');
  });

  it('can be received at once after a retry by hand, after any end as well', async () => {
    await world.publish();
    await world.nack(await world.receiveOne());
    expect(await world.receive()).toEqual([]);
    await retryDelivery(world.byHandContext, (await world.delivery()).key);
    await world.later(0);
    await world.ack(await world.receiveOne());
    await retryDelivery(world.byHandContext, (await world.delivery()).key);
    await world.later(0);
    await world.ack(await world.receiveOne());
    expect((await world.delivery()).attempts.map(({ phase, round }) => [phase, round])).toEqual([
      ['initial', 1],
      ['manual', 1],
      ['manual', 2],
    ]);
  });

  it('that was cancelled after it was received is delivered by an acknowledgement within the lease', async () => {
    await world.publish();
    const received = await world.receiveOne();
    await world.call('POST', '/v2/queues/orders/messages/message-1/deliveries/subscription-1/cancel');
    expect((await world.delivery()).status).toBe('cancelled');
    expect((await world.ack(received)).status).toBe(204);
    expect((await world.ack(received)).status).toBe(204);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      lateResults: [{ outcome: 'delivered' }],
    });
  });

  it('is cancelled instead of received after the ttl of its message', async () => {
    await world.publish({ expiresAt: world.clock.now() + 1000 });
    await world.later(1000);
    expect(await world.receive()).toEqual([]);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'message_expired' });
  });

  it('is cancelled instead of received after its data was erased', async () => {
    await world.publish();
    await world.call('DELETE', '/v2/queues/orders/messages/message-1/body');
    expect(await world.receive()).toEqual([]);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
  });

  it('is cancelled once its lease has lapsed if its subscription is disabled by then', async () => {
    await world.publish();
    await world.receiveOne();
    await world.call('POST', `${PATH}/disable`);
    await world.later(91_000);
    await world.reconcile();
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'disabled' });
  });
});
