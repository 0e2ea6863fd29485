import { createSecretKey } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { receiptText } from '../../../functions/api/pull/answer.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { withExpiringBodies } from '../../support/in-memory/expiring-bodies.ts';
import { requestFor } from '../../support/request-for.ts';
import { faultOf } from './api-under-test.ts';
import { PATH, pullWorld, type PullWorld } from './pull-world.ts';

describe('a delivery of a pull subscription', () => {
  const MINUTE = 60_000;

  const HOUR = 60 * MINUTE;

  let world: PullWorld;

  beforeEach(async () => {
    world = await pullWorld();
  });

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

describe('answers to pulled deliveries', () => {
  let world: PullWorld;

  beforeEach(async () => {
    world = await pullWorld();
  });

  describe('an answer', () => {
    it('is recorded once, however often it is sent', async () => {
      await world.publish({ id: 'good' });
      await world.publish({ id: 'bad' });
      const [good, bad] = await world.receive();
      if (good === undefined || bad === undefined) throw new Error('two were published');
      for (const _ of [1, 2]) {
        expect((await world.ack(good)).status).toBe(204);
        expect((await world.nack(bad)).status).toBe(204);
      }
      expect((await world.delivery('subscription-1', 'good')).attempts).toHaveLength(1);
      expect((await world.delivery('subscription-1', 'bad')).attempts).toHaveLength(1);
      expect((await world.nack(good)).status).toBe(409);
      expect((await world.ack(bad)).status).toBe(409);
    });

    it('counts after the end of its lease, before that is noticed', async () => {
      await world.publish();
      const received = await world.receiveOne({ lease_seconds: 5 });
      await world.later(5_000);
      expect(await world.ack(received)).toMatchObject({ status: 204 });
      expect((await world.delivery()).attempts).toMatchObject([{ outcome: 'delivered', durationMs: 5_000 }]);
    });

    it.each([
      ['its retry waits', 2, 'retrying'],
      ['it was given up', 0, 'exhausted'],
    ])('by ack counts after its lease has failed and %s', async (_, retries, status) => {
      const policy = aBarePolicy({ minimum_delay_retries: retries, minimum_delay: 5 });
      world = await pullWorld({ options: { _retry_policy: policy } });
      await world.publish();
      const received = await world.receiveOne({ lease_seconds: 5 });
      await world.lapse();
      expect(await world.delivery()).toMatchObject({ status, attempts: [{ result: { kind: 'lapsed' } }] });

      expect((await world.nack(received)).status).toBe(409);
      for (const _again of [1, 2]) expect((await world.ack(received)).status).toBe(204);
      expect(await world.delivery()).toMatchObject({
        status: 'delivered',
        lateResults: [{ number: 1, outcome: 'delivered' }],
      });
      expect(await world.receive()).toEqual([]);
    });

    it('by ack is refused once the delivery was received again, whose own answer counts', async () => {
      await world.publish();
      const first = await world.receiveOne({ lease_seconds: 5 });
      await world.lapse();
      const second = await world.receiveOne();
      expect((await world.ack(first)).status).toBe(409);
      expect((await world.delivery()).status).toBe('retrying');
      expect((await world.nack(second)).status).toBe(204);
      expect((await world.ack(first)).status).toBe(409);
      expect((await world.delivery()).attempts).toHaveLength(2);
    });

    it.each([
      ['no receipt', 'x'],
      ['JSON of another form', Buffer.from('[2,"orders"]').toString('base64url')],
      [
        'a delivery that does not exist',
        Buffer.from(JSON.stringify([1, 'orders', 'm', 'subscription-1', 0, 1, 'o'])).toString('base64url'),
      ],
    ])('with %s is not found', async (_name, receipt) => {
      expect(await world.ack({ receipt })).toMatchObject({ status: 404, body: faultOf('not_found') });
    });

    it.each(['\ud800', 'a#0', ''])(
      'reads nothing for a receipt whose message cannot exist: %j',
      async (messageId) => {
        const key = { queue: 'orders', messageId, subscriptionId: 'subscription-1', bucket: 0 };
        const receipt = receiptText({ key, attempt: 1, owner: 'pull/guess' });
        world.deliveries.find = () => Promise.reject(new Error('a read'));
        expect(await world.ack({ receipt })).toMatchObject({ status: 404, body: faultOf('not_found') });
      },
    );

    it.each(
      ['attempt', 'owner', 'bucket'].flatMap((part) => [
        { part, when: 'within its lease' },
        { part, when: 'after its lease' },
      ]),
    )('with a forged $part changes nothing $when', async ({ part, when }) => {
      await world.publish();
      const { receipt } = await world.receiveOne({ lease_seconds: 5 });
      if (when === 'after its lease') await world.lapse();
      const parts: unknown = JSON.parse(Buffer.from(receipt, 'base64url').toString());
      if (!Array.isArray(parts)) throw new Error('a receipt is a list');
      const index = { bucket: 4, attempt: 5, owner: 6 }[part] ?? 0;
      const forged = parts.with(index, part === 'owner' ? 'pull/guess' : 3);
      const text = Buffer.from(JSON.stringify(forged)).toString('base64url');
      const before = await world.delivery();
      expect([404, 409]).toContain((await world.ack({ receipt: text })).status);
      expect(await world.delivery()).toEqual(before);
    });

    it('with a receipt of another subscription is a conflict', async () => {
      await world.subscriptions.addSubscription(aSubscription({ id: 'other', subscriber: 'pull:other' }));
      await world.publish();
      const { receipt } = await world.receiveOne();
      const path = PATH.replace('subscription-1', 'other');
      expect(await world.call('POST', `${path}/ack`, { receipt })).toMatchObject({ status: 409 });
      expect((await world.delivery()).status).toBe('pending');
    });

    it('by nack has a text that is bounded and printable', async () => {
      await world.publish();
      const received = await world.receiveOne();
      expect(await world.nack(received, 'a\u0007')).toMatchObject({
        status: 400,
        body: faultOf('invalid_request', 'error'),
      });
      expect(await world.nack(received, 'x'.repeat(257))).toMatchObject({ status: 400 });
      expect(await world.nack(received, 'x'.repeat(256))).toMatchObject({ status: 204 });
    });
  });

  describe('after its subscription was deleted', () => {
    const HELD = '/v2/pull/orders/subscription-1';

    const end = {
      deleted: () => world.call('DELETE', PATH),
      expired: () => world.later(30_000),
      'deleted with its queue': () => world.call('DELETE', '/v2/queues/orders?subscriptions=delete'),
    };

    const deleted = async (how: keyof typeof end = 'deleted') => {
      const answer = await world.call('POST', `${PATH}/pull-token`, {});
      const { token } = z.object({ token: z.string() }).parse(answer.body);
      await world.publish();
      const received = await world.receiveOne({ lease_seconds: 60 });
      if (how === 'expired') {
        const { subscriptions, clock } = world;
        const key = { queue: 'orders', subscriptionId: 'subscription-1', now: clock.now() };
        await subscriptions.changeSubscription(key, (found) => ({ ...found, expiresAt: key.now + 20_000 }));
      }
      await end[how]();
      const headers = { authorization: `Bearer ${token}` };
      return { received, headers };
    };

    it.each(['ack', 'nack'])('an operator can %s a received delivery within its lease', async (answer) => {
      const { received } = await deleted();
      const { status } = await (answer === 'ack' ? world.ack(received) : world.nack(received));
      expect(status).toBe(204);
      const recorded = await world.delivery();
      expect(recorded.attempts).toMatchObject([{ outcome: answer === 'ack' ? 'delivered' : 'failed' }]);
    });

    it.each([
      ['deleted', 'ack', 'delivered'],
      ['deleted', 'nack', 'failed'],
      ['expired', 'ack', 'delivered'],
      ['expired', 'nack', 'failed'],
    ] as const)(
      'or %s, the holder of its token can %s too, and do nothing else',
      async (how, answer, outcome) => {
        const { received, headers } = await deleted(how);
        const { receipt } = received;
        expect((await world.call('POST', `${HELD}/receive`, {}, headers)).status).toBe(401);
        expect((await world.call('POST', `${HELD}/${answer}`, { receipt }, headers)).status).toBe(204);
        expect((await world.delivery()).attempts).toMatchObject([{ outcome }]);
      },
    );

    it('with its queue, no answer counts', async () => {
      const { received, headers } = await deleted('deleted with its queue');
      const { receipt } = received;
      expect((await world.ack(received)).status).toBe(404);
      expect((await world.call('POST', `${HELD}/ack`, { receipt }, headers)).status).toBe(401);
    });

    it('nothing can be received', async () => {
      await deleted();
      expect((await world.call('POST', `${PATH}/receive`, {})).status).toBe(404);
    });
  });
});

describe('how long pulled deliveries are kept', () => {
  let world: PullWorld;

  /** From the last change, or the begin of the wait, to the expiry. */
  const daysLeft = async (): Promise<number> => {
    const { updatedAt, overdueAt = updatedAt, expiresAt } = await world.delivery();
    return Math.round((expiresAt - overdueAt) / DAY_MS);
  };

  beforeEach(async () => {
    const policy = aBarePolicy({ minimum_delay_retries: 9, minimum_delay: 5 });
    world = await pullWorld({ options: { _retry_policy: policy } });
    withExpiringBodies(world);
  });

  describe('the data of a delivery that waits for its subscriber', () => {
    it.each([
      ['small', 10, {}],
      ['of 70 KB', 70 * 1024, {}],
      ['in a queue that keeps less', 10, { _retention_days: 15 }],
    ])('is there after many long waits: %s', async (_what, bytes, metadata) => {
      await world.subscriptions.putQueue(aQueue({ metadata }));
      await world.publish({ data: JSON.stringify('x'.repeat(bytes)) });
      for (let attempt = 1; attempt < 9; attempt += 1) {
        await world.later(14 * DAY_MS);
        const received = await world.receiveOne();
        expect(received).toMatchObject({ attempt });
        await world.nack(received);
        await world.later(10_000);
      }
    });

    it('outlives the wait of a delivery that is retried by hand', async () => {
      world.settings.retentionMs = 90 * DAY_MS;
      await world.subscriptions.putQueue(aQueue({ metadata: { _retention_days: 15 } }));
      await world.publish();
      const { key } = await world.delivery();
      await cancelDelivery(world.byHandContext, key, 'manual');
      await world.later(50 * DAY_MS);
      await retryDelivery(world.byHandContext, key);
      await world.later(1_000);

      const record = await world.messageRecords.find(key);
      expect(await world.delivery()).toMatchObject({ status: 'retrying', next: { by: 'pull' } });
      expect(record?.expiresAt).toBeGreaterThan((await world.delivery()).expiresAt);
    });
  });

  describe('a delivery by pull in a queue that keeps less', () => {
    it('waits for half of the setting, and stays for half of the days of its queue', async () => {
      await world.subscriptions.putQueue(aQueue({ metadata: { _retention_days: 16 } }));
      await world.publish();
      expect(await daysLeft()).toBe(15 + 8);
      const received = await world.receiveOne();
      expect(await daysLeft()).toBe(15 + 8);
      await world.nack(received);
      expect(await daysLeft()).toBe(15 + 8);
    });
  });
});
