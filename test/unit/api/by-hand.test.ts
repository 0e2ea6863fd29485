import { beforeEach, describe, expect, it } from 'vitest';
import { sendDelivery } from '../../../functions/api/deliveries/manual-routes.ts';
import { booksOfMessage, isBalanced } from '../../../shared/domain/delivery/books.ts';
import { confirmationIdOf } from '../../../shared/domain/subscription/confirmation.ts';
import type { Subscription } from '../../../shared/domain/subscription/subscription.ts';
import { aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { aDelivery, anAttempt, type DeliveryFields } from '../../support/delivery-builders.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { apiUnderTest, CALLER, faultOf, NOON } from './api-under-test.ts';

describe('retrying and cancelling by hand', () => {
  const KEY = { queue: 'orders', messageId: 'message-1', subscriptionId: 'subscription-1', bucket: 0 };

  const PATH = '/v2/queues/orders/messages/message-1/deliveries/subscription-1';

  let api: ReturnType<typeof apiUnderTest>;

  beforeEach(async () => {
    api = apiUnderTest();
    await api.registry.putQueue(aQueue());
    await api.registry.addSubscription(aSubscription());
    await api.messageRecords.accept({
      key: { queue: 'orders', messageId: 'message-1' },
      acceptedAt: NOON - 1_000,
      listedAt: NOON - 1_000,
      matched: 1,
      filtered: 0,
      duplicates: 0,
      buckets: 1,
      body: { kind: 'inline', message: aMessage() },
      expiresAt: NOON + 1_000_000,
    });
  });

  const recorded = async (delivery: DeliveryFields): Promise<void> => {
    const create = aDelivery({ key: KEY, acceptedAt: NOON - 1_000, ...delivery });
    await api.deliveries.write({ name: 'open', key: KEY, expect: { kind: 'absent' }, create });
  };

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

    it("answers 404, not 400, for a producer's id of an unknown message", async () => {
      expect(
        await api.call('POST', '/v2/queues/orders/messages/an%20id/deliveries/subscription-1/retry'),
      ).toMatchObject({ status: 404, body: faultOf('not_found') });
    });

    it.each([
      [
        'while an attempt is in flight',
        { status: 'retrying', lease: { owner: 'me', until: NOON + 1 }, next },
      ],
      ['before the first attempt', { status: 'pending', lease: { owner: 'me', until: NOON - 1 } }],
      ['while it has pending steps', { status: 'exhausted', pendingSteps: [{ kind: 'undeliverable' }] }],
    ] satisfies [string, DeliveryFields][])('answers 409 %s', async (_, delivery) => {
      await recorded(delivery);

      expect(await api.call('POST', `${PATH}/retry`)).toMatchObject({
        status: 409,
        body: faultOf('conflict'),
      });
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
        expect(await api.call('POST', `${SEND}/${id}/send`)).toMatchObject({
          status: 409,
          body: faultOf('conflict'),
        });
      expect(api.wakeUps).toEqual([]);
    });

    it.each([
      ['/v2/queues/no%20queue/messages/m/deliveries/s', 400],
      ['/v2/queues/orders/messages/nothing/deliveries/subscription-1', 404],
      ['/v2/queues/orders/messages/message-1/deliveries/a%20b', 404],
    ])('changes nothing for %s', async (path, status) => {
      expect((await api.call('POST', `${path}/send`)).status).toBe(status);
      expect(api.changes).toEqual([]);
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

      expect(await api.call('POST', `${PATH}/cancel`)).toMatchObject({
        status: 409,
        body: faultOf('conflict'),
      });
    });
  });

  describe.each(['retry', 'cancel'])('POST …/%s', (action) => {
    it.each([
      ['an invalid queue name', '/v2/queues/no%20queue/messages/m/deliveries/s', 400],
      ['a message that does not exist', '/v2/queues/orders/messages/nothing/deliveries/subscription-1', 404],
      ['a malformed subscription id', `/v2/queues/orders/messages/message-1/deliveries/a%20b`, 404],
      ['a subscription without a delivery', '/v2/queues/orders/messages/message-1/deliveries/other', 404],
    ])('changes nothing for %s', async (_, path, status) => {
      expect((await api.call('POST', `${path}/${action}`)).status).toBe(status);
      expect(api.changes).toEqual([]);
      expect(api.wakeUps).toEqual([]);
    });
  });
});

describe('sending by hand', () => {
  const MESSAGE = { queue: 'orders', messageId: 'message-1' };

  const DAY = 24 * 60 * 60 * 1000;

  let world: ChunkedWorld;

  /** Three subscriptions that get every message, and one, `picky`, that gets none. */
  beforeEach(async () => {
    world = await chunkedWorld(3);
    world.settings.retainMessages = 'all';
    await subscribed('picky', { options: { event_types: ['order.paid'] } });
  });

  /** The subscription exists before the message. */
  const subscribed = (id: string, more: Partial<Subscription> = {}) =>
    world.subscribe(id, { options: {}, ...more });

  const delivered = async (): Promise<void> => {
    await world.publish();
    await world.clock.run();
  };

  const send = (id: string, message = MESSAGE) => sendDelivery(world.byHandContext, message, id);

  /** The reconciliation report of the message. */
  const books = async () => {
    const record = await world.messageRecords.find(MESSAGE);
    if (record === undefined) throw new Error('The message is not on record');
    return booksOfMessage(record, await world.byHandContext.ports.deliveryListings.tally(record));
  };

  describe('sending a message by hand', () => {
    it.each<[string, () => Promise<unknown>]>([
      ['that was filtered', () => Promise.resolve()],
      ['that is newer', () => world.subscribe('newer', { createdAt: world.clock.now() + 1 })],
    ])('reaches a subscription %s, once and under its id, and balances', async (what, prepare) => {
      const id = what.endsWith('newer') ? 'newer' : 'picky';
      await delivered();
      await prepare();
      expect(await send(id)).toMatchObject({ kind: 'retried', delivery: { status: 'pending', round: 1 } });
      expect(isBalanced(await books())).toBe(true);
      await world.clock.run();

      expect(world.requestsOf(id)).toBe(1);
      const [request] = world.subscriber.seen.filter(({ request: { url } }) => url === world.urlOf(id));
      expect(request?.request.headers['webhook-id']).toBe('message-1');
      expect(await world.delivery(id)).toMatchObject({
        status: 'delivered',
        attempts: [{ number: 1, round: 1, phase: 'manual' }],
      });
      expect(await books()).toMatchObject({ matched: 4, filtered: 1, delivered: 4, unmatched: 0 });
      expect(isBalanced(await books())).toBe(true);
    });

    it('is retried by the policy like any delivery', async () => {
      await delivered();
      await world.subscribe('newer', {
        createdAt: world.clock.now() + 1,
        options: { _retry_policy: { retries_with_no_delay: 1 } },
      });
      world.subscriber.script(world.urlOf('newer'), [status(500), status(200)]);
      await send('newer');
      await world.clock.run();

      const { attempts } = await world.delivery('newer');
      expect(attempts.map(({ phase }) => phase)).toEqual(['manual', 'immediate']);
    });

    it('gives a delivered delivery another round, which is not counted again', async () => {
      await delivered();
      expect((await send('s-1')).kind).toBe('retried');
      await world.clock.run();

      expect(world.requestsOf('s-1')).toBe(2);
      expect(await world.delivery('s-1')).toMatchObject({ status: 'delivered', round: 2 });
      expect(await books()).toMatchObject({ matched: 3, delivered: 3 });
    });

    it('makes one request if it is repeated at once', async () => {
      await delivered();
      const results = await Promise.all(Array.from({ length: 5 }, () => send('picky')));
      expect(results.filter(({ kind }) => kind === 'retried')).toHaveLength(1);
      expect(results).toContainEqual({ kind: 'refused', why: 'open' });
      await world.clock.run();

      expect(world.requestsOf('picky')).toBe(1);
      expect((await books()).matched).toBe(4);
    });

    it('makes no second request when its message is repeated', async () => {
      await delivered();
      await send('picky');
      await world.clock.run();
      await delivered();

      expect(world.requestsOf('picky')).toBe(1);
      expect(isBalanced(await books())).toBe(true);
    });

    it('makes no second request when a repeat of the job has the subscription among its members', async () => {
      await delivered();
      await send('picky');
      await world.clock.run();
      await world.deliverCopy(world.job([...world.ids, 'picky']), world.received('copy'));
      await world.clock.run();

      expect(world.requestsOf('picky')).toBe(1);
    });

    it('is found by reconcile if its wake-up was not sent', async () => {
      await delivered();
      const lost = { ...world.wakeUps, sendDelayed: () => Promise.reject(new Error('SQS is unavailable')) };
      const { ports, settings } = world.byHandContext;
      const sending = sendDelivery({ ports: { ...ports, wakeUps: lost }, settings }, MESSAGE, 'picky');
      await expect(sending).rejects.toThrow('unavailable');
      expect(isBalanced(await books())).toBe(true);
      await world.clock.run(world.clock.now() + 60_000);
      await world.reconcile();
      await world.clock.run();

      expect((await world.delivery('picky')).status).toBe('delivered');
    });
  });

  describe('sending a message by hand is refused', () => {
    const refusedAs = async (why: string, id = 'picky', message = MESSAGE): Promise<void> => {
      const before = world.subscriber.seen.length;
      expect(await send(id, message)).toMatchObject({ kind: 'refused', why });
      await world.clock.run(world.clock.now() + 60_000);
      expect(world.subscriber.seen).toHaveLength(before);
    };

    it('for a message without a record', async () => {
      await refusedAs('no_such_message');
    });

    it.each([true, false])(
      'for a message of an earlier queue of this name, stored with its creation: %s',
      async (isWithIt) => {
        await delivered();
        const record = await world.messageRecords.find(MESSAGE);
        if (record === undefined) throw new Error('The message is not on record');
        const key = { ...MESSAGE, messageId: 'stored' };
        const { queueCreatedAt: _, ...without } = record;
        await world.messageRecords.accept({ ...(isWithIt ? record : without), key }, world.clock.now());
        await world.clock.run(world.clock.now() + DAY);
        await world.subscriptions.deleteQueue('orders', world.clock.now());
        await world.subscriptions.putQueue(aQueue({ createdAt: world.clock.now() }));
        await world.subscribe('newer', { createdAt: world.clock.now() });
        await refusedAs('no_such_message', 'newer', key);
      },
    );

    it('while a first attempt that may be its own is still to come', async () => {
      await world.publish({}, 600);
      await world.until(1_000);
      await refusedAs('unfinished');
      await refusedAs('unfinished', 's-1');
      await world.clock.run();
      expect((await send('picky')).kind).toBe('retried');
    });

    it('not because of others, for a subscription that is newer than the message', async () => {
      await world.publish({}, 600);
      await world.until(1_000);
      await world.subscribe('newer', { createdAt: world.clock.now() });
      expect((await send('newer')).kind).toBe('retried');
    });

    it('not because of deliveries that are missing, for a message older than the retention', async () => {
      await delivered();
      world.settings.retentionMs = DAY;
      world.messageRecords.countMatch({ key: MESSAGE, acceptedAt: world.startedAt });
      await refusedAs('unfinished');
      await world.clock.run(world.startedAt + DAY);
      expect((await send('picky')).kind).toBe('retried');
    });

    it('while the message is sent page by page', async () => {
      world.settings.pageSize = 2;
      await delivered();
      const record = await world.messageRecords.find(MESSAGE);
      if (record === undefined) throw new Error('The message is not on record');
      await world.subscribe('newer', { createdAt: world.clock.now() + 1 });
      const unfinished = { ...MESSAGE, messageId: 'unfinished' };
      await world.messageRecords.accept({ ...record, key: unfinished, lastSubscriptionId: 's-1' });
      await refusedAs('unfinished', 'newer', unfinished);
    });

    it('without the body', async () => {
      world.settings.retainMessages = 'failed';
      await delivered();
      await refusedAs('body_gone');
      await refusedAs('body_gone', 's-1');
      expect((await books()).matched).toBe(3);
    });

    it('after the body was erased', async () => {
      await delivered();
      await world.messageRecords.eraseBody(MESSAGE, world.clock.now());
      await refusedAs('body_gone');
    });

    it('after the ttl of the message', async () => {
      await world.publish({ expiresAt: world.clock.now() + 5_000 });
      await world.clock.run(world.clock.now() + 6_000);
      await refusedAs('message_expired');
    });

    it.each<[string, Partial<Subscription>]>([
      ['disabled', { disabled: { reason: 'manual', at: 0 } }],
      ['unconfirmed', { unconfirmed: { tokenHash: 'x', at: 0 } }],
      ['marked for deletion', { deletedAt: 1 }],
      ['expired', { expiresAt: 1 }],
    ])('for a subscription that is %s', async (_what, more) => {
      await subscribed('absent', more);
      await delivered();
      await refusedAs('subscription_absent', 'absent');
    });

    it('for a subscription that does not exist', async () => {
      await delivered();
      await refusedAs('subscription_absent', 'nobody');
    });

    it("for the confirmation request of another subscription, which has that one's link", async () => {
      const id = confirmationIdOf({ tokenHash: 'x' });
      await world.dispatch({ ok: true, message: aMessage({ id }) });
      await world.clock.run();
      await refusedAs('no_such_delivery', 'picky', { ...MESSAGE, messageId: id });
    });
  });
});
