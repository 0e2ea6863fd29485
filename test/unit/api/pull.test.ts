import { createSecretKey } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, requestFor } from '../../support/builders.ts';
import { withExpiringBodies } from '../../support/in-memory/expiring-bodies.ts';
import { invalid, ONE, QUEUE, refusal } from './api-under-test.ts';
import { PATH, pullWorld, type PullWorld } from './pull-world.ts';

const MESSAGE = '/v2/queues/orders/messages/message-1';
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
    const { get } = world.api;
    expect(await get('/v2/queues/orders/deliveries?status=pending')).toMatchObject({ deliveries: [waiting] });
    const nextAttempt = { waiting: 'pull', by: 'pull' };
    expect(await get(`${MESSAGE}/deliveries/subscription-1`)).toMatchObject({
      status: 'pending',
      nextAttempt,
    });
    expect(await get(`${MESSAGE}/explain`)).toMatchObject({
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
      attempts: [
        {
          ...{ number: 1, phase: 'initial', startedAt: now, durationMs: 2_000, outcome: 'delivered' },
          waited: [{ reason: 'pull', ms: MINUTE }],
        },
      ],
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
    expect(await world.ack({ receipt })).toMatchObject(refusal('conflict'));
  });

  it('is undeliverable as soon as reconcile notices that its last lease has lapsed', async () => {
    world = await pullWorld({ options: { _retry_policy: aBarePolicy() } });
    await world.publish();
    await world.receiveOne({ lease_seconds: 60 });
    await world.later(91_000);
    await world.reconcile();
    await world.clock.run();
    expect(await world.delivery()).toMatchObject({ status: 'exhausted', pendingSteps: [] });
    expect(world.undeliverables.sent).toHaveLength(1);
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
    const made = world.journal.facts.find(({ fact }) => fact === 'attempt_made');
    expect(made).toMatchObject({ status: 'delivered' });
    expect(made).not.toHaveProperty('latenessMs');
  });

  it('can be received at once after a retry by hand, after any end as well', async () => {
    await world.publish();
    await world.nack(await world.receiveOne());
    expect(await world.receive()).toEqual([]);
    for (const _ of ['its next attempt waits', 'it was delivered']) {
      await retryDelivery(world.byHandContext, (await world.delivery()).key);
      await world.later(0);
      await world.ack(await world.receiveOne());
    }
    expect((await world.delivery()).attempts.map(({ phase, round }) => [phase, round])).toEqual([
      ['initial', 1],
      ['manual', 1],
      ['manual', 2],
    ]);
  });

  it('can be received after reconcile took it for overdue, which it was until deliver put it back', async () => {
    await world.publish();
    await world.later(MINUTE);
    const { key } = await world.delivery();
    await retryDelivery(world.byHandContext, key);
    const overdue = await world.deliveries.overdue(world.clock.now(), 1);
    expect(overdue).toMatchObject([{ key }]);
    await world.later(MINUTE);
    vi.spyOn(world.deliveries, 'overdue').mockResolvedValueOnce(overdue);
    await world.reconcile();
    await world.later(MINUTE);
    expect(await world.receiveOne()).toMatchObject({ messageId: 'message-1', attempt: 1 });
  });

  it('that was cancelled after it was received is delivered by an acknowledgement within the lease', async () => {
    await world.publish();
    const received = await world.receiveOne();
    await world.call('POST', `${MESSAGE}/deliveries/subscription-1/cancel`);
    expect((await world.delivery()).status).toBe('cancelled');
    expect((await world.ack(received)).status).toBe(204);
    expect((await world.ack(received)).status).toBe(204);
    const delivery = await world.delivery();
    expect(delivery).toMatchObject({ status: 'delivered', lateResults: [{ outcome: 'delivered' }] });
    expect(delivery.lateResults[0]).not.toHaveProperty('lost');
  });

  it.each<[string, string, () => Promise<unknown>]>([
    ['the ttl of its message', 'message_expired', () => world.later(1000)],
    ['its data was erased', 'body_erased', () => world.call('DELETE', `${MESSAGE}/body`)],
  ])('is cancelled instead of received after %s', async (_what, reason, happens) => {
    await world.publish({ expiresAt: world.clock.now() + 1000 });
    await happens();
    expect(await world.receive()).toEqual([]);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason });
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

describe('a receive', () => {
  it.each([
    { max: 0 },
    { max: 101 },
    { max: 1.5 },
    { lease_seconds: 4 },
    { lease_seconds: 3601 },
    { more: 1 },
  ])('refuses %j', async (body) => {
    const [field = ''] = Object.keys(body);
    expect(await world.call('POST', `${PATH}/receive`, body)).toMatchObject(invalid(field));
  });

  it('takes the defaults without a body', async () => {
    await world.publish();
    const answer = await world.call('POST', `${PATH}/receive`);
    const leaseUntil = new Date(world.clock.now() + MINUTE).toISOString();
    expect(answer).toMatchObject({ status: 200, body: { deliveries: [{ leaseUntil }] } });
  });

  it('gives the headers of a push without those that carry credentials', async () => {
    const headers = {
      authorization: 'Bearer s3cret',
      'x-api-key': 's3cret',
      cookie: 's=s3cret',
      'x-forward': 'Basic s3cret',
      'x-tenant': 'acme',
    };
    const trace = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` };
    world = await pullWorld({ options: { post_headers: headers } });
    await world.publish({ trace });
    expect((await world.receiveOne()).headers).toEqual({
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      'user-agent': expect.any(String) as unknown,
      'webhook-id': 'message-1',
      'webhook-signature': expect.stringMatching(/^v1,/) as unknown,
      'webhook-timestamp': expect.any(String) as unknown,
      'x-tenant': 'acme',
      ...trace,
    });
  });

  it('gives as many large bodies as fit into an answer, and leaves the others to wait', async () => {
    const data = JSON.stringify('x'.repeat(1_000_000));
    for (let index = 0; index < 7; index += 1) await world.publish({ id: `large-${index}`, data });
    const first = await world.receive();
    expect(first.map(({ messageId }) => messageId)).toEqual(['large-0', 'large-1', 'large-2', 'large-3']);
    expect(await world.receive()).toHaveLength(3);
  });

  it('gives what it could lease if the table fails for the others, which come later', async () => {
    for (const id of ['good', 'bad']) await world.publish({ id });
    const write = world.deliveries.write.bind(world.deliveries);
    let isDown = true;
    world.deliveries.write = (transition) =>
      isDown && transition.key.messageId === 'bad'
        ? Promise.reject(new Error('the table is throttled'))
        : write(transition);
    expect((await world.receive()).map(({ messageId }) => messageId)).toEqual(['good']);
    expect(await world.call('POST', `${PATH}/receive`, {})).toMatchObject({ status: 500 });
    isDown = false;
    expect(await world.receiveOne()).toMatchObject({ messageId: 'bad', attempt: 1 });
  });

  it('never gives the data of a later message with the same id', async () => {
    await world.publish();
    const find = world.messageRecords.find.bind(world.messageRecords);
    world.messageRecords.find = async (key) => {
      const record = await find(key);
      return record && { ...record, acceptedAt: record.acceptedAt + 1 };
    };
    expect(await world.receive()).toEqual([]);
    expect([...world.deliveries.records.values()]).toMatchObject([
      { status: 'cancelled', reason: 'body_missing' },
    ]);
  });

  it('takes no lease while the secrets cannot be opened', async () => {
    await world.publish();
    world.secretOpener.outage = new Error('KMS is down');
    expect(await world.call('POST', `${PATH}/receive`, {})).toMatchObject({ status: 500 });
    world.secretOpener.outage = undefined;
    expect(await world.receiveOne()).toMatchObject({ attempt: 1 });
  });

  it('is refused while the subscription is disabled; what waited is received after that', async () => {
    await world.publish();
    await world.call('POST', `${PATH}/disable`);
    expect(await world.call('POST', `${PATH}/receive`, {})).toMatchObject(refusal('inactive'));
    await world.call('POST', `${PATH}/enable`);
    await world.receiveOne();
  });

  it('is refused for a subscription that is called', async () => {
    await addSubscription(world.subscriptions, aSubscription({ id: 'called' }));
    const path = `${PATH.replace('subscription-1', 'called')}/receive`;
    expect(await world.call('POST', path, {})).toMatchObject({ status: 409 });
  });

  it('is no answer to another subscription of the queue', async () => {
    await addSubscription(world.subscriptions, aSubscription({ id: 'other', subscriber: 'pull:other' }));
    await world.publish();
    const path = PATH.replace('subscription-1', 'other');
    const answer = await world.call('POST', `${path}/receive`, { max: 100 });
    expect(answer.body).toMatchObject({ deliveries: [{ messageId: 'message-1' }] });
    expect(await world.receive()).toHaveLength(1);
  });
});

describe('a pull subscription', () => {
  it('needs no confirmation, and cannot become one that is called', async () => {
    const { call, get, subscribe, patch, changes } = world.api;
    await call('PUT', QUEUE, { _confirm_subscriptions: true });
    await subscribe({ subscriber: 'pull:warehouse' });
    expect(await get(ONE)).toMatchObject({ subscriber: 'pull:warehouse', confirmed: true });
    expect(changes.at(-1)).toMatchObject({ after: { subscriber: 'pull:warehouse' } });
    expect(await patch({ subscriber: 'https://a.test/' })).toMatchObject(invalid('subscriber'));
    const renamed = { subscriber: 'pull:stock', confirmed: true };
    expect((await patch({ subscriber: 'pull:stock' })).body).toMatchObject(renamed);
  });

  it.each(['pull', 'pull://a', 'pull:a b', `pull:${'x'.repeat(65)}`, 'PULL:'])(
    'is not named %s',
    async (subscriber) => {
      expect(await world.api.subscribe({ subscriber })).toMatchObject(invalid('subscriber'));
    },
  );

  it('shares a chunk with others, which are delivered as before', async () => {
    await addSubscription(world.subscriptions, aSubscription({ id: 'called' }));
    await world.publish();
    await world.clock.run();
    expect((await world.delivery('called')).status).toBe('delivered');
    await world.ack(await world.receiveOne());
    expect((await world.delivery()).attempts).toHaveLength(1);
  });

  it('ignores max_per_second: its subscriber sets the pace', async () => {
    world = await pullWorld({ options: { max_per_second: 0.01, _retry_policy: aBarePolicy() } });
    for (const id of ['one', 'two']) await world.publish({ id });
    expect(await world.receive()).toHaveLength(2);
  });
});

/** From the last change, or the begin of the wait, to the expiry. */
const daysLeft = async (): Promise<number> => {
  const { updatedAt, overdueAt = updatedAt, expiresAt } = await world.delivery();
  return Math.round((expiresAt - overdueAt) / DAY_MS);
};

const keepingWorld = async (): Promise<void> => {
  const policy = aBarePolicy({ minimum_delay_retries: 9, minimum_delay: 5 });
  world = await pullWorld({ options: { _retry_policy: policy } });
  withExpiringBodies(world);
};

describe('a delivery that waits long for its subscriber', () => {
  beforeEach(keepingWorld);

  it.each([
    ['small', 10, {}],
    ['of 70 KB', 70 * 1024, {}],
    ['in a queue that keeps less', 10, { _retention_days: 15 }],
  ])('keeps its data after many long waits: %s', async (_what, bytes, metadata) => {
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

  it('keeps its data while it is retried by hand', async () => {
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

  it('waits for half of the setting, and stays for half of the days of its queue, if that is less', async () => {
    await world.subscriptions.putQueue(aQueue({ metadata: { _retention_days: 16 } }));
    await world.publish();
    expect(await daysLeft()).toBe(15 + 8);
    const received = await world.receiveOne();
    expect(await daysLeft()).toBe(15 + 8);
    await world.nack(received);
    expect(await daysLeft()).toBe(15 + 8);
  });
});
