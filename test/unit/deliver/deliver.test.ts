import { beforeEach, describe, expect, it } from 'vitest';
import { aBarePolicy, aMessage, aSubscription } from '../../support/builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { removeSubscription } from '../../support/remove-subscription.ts';
import { answered } from '../../support/delivery-builders.ts';

let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

describe('a delivery', () => {
  it('that is answered with a 2xx takes one request and leaves no stored body or message', async () => {
    await world.subscribe();
    await world.publish();

    expect(world.subscriber.seen).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, phase: 'initial', result: answered(200) }],
    });
    expect(await world.messageRecords.find({ queue: 'orders', messageId: 'message-1' })).not.toHaveProperty(
      'body',
    );
    expect([world.deliveryJobs.waiting, world.retryQueue.waiting, world.undeliverables.sent.length]).toEqual([
      0, 0, 0,
    ]);
  });

  it('sends the data byte for byte as published, with the same webhook-id at every attempt', async () => {
    await world.subscribe();
    world.subscriber.script(world.url, [status(503), status(503), status(503), status(503), status(200)]);
    await world.publish();

    const requests = world.subscriber.seen.map(({ request }) => request);
    expect(requests.map(({ body }) => body)).toEqual(
      Array(5).fill(
        '{"id":"message-1","queue":"orders","type":"order.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"total":12345678901234567890,"b":1,"a":2}}',
      ),
    );
    expect(new Set(requests.map(({ headers }) => headers['webhook-id']))).toEqual(new Set(['message-1']));
  });

  it('follows the four phases at exactly the times of its policy, then is exhausted', async () => {
    await world.subscribe({
      retries_with_no_delay: 2,
      minimum_delay_retries: 2,
      minimum_delay: 5,
      backoff_retries: 3,
      maximum_delay: 25,
      maximum_delay_retries: 2,
      retry_backoff_function: 'linear',
    });
    world.subscriber.script(world.url, [status(500)]);
    await world.publish();

    expect(world.gaps()).toEqual([0, 0, 5, 5, 5, 15, 25, 25, 25]);
    const { attempts, status: ended, reason } = await world.delivery();
    expect({ ended, reason }).toEqual({ ended: 'exhausted', reason: 'retries_exhausted' });
    expect(attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      ...Array<string>(2).fill('immediate'),
      ...Array<string>(2).fill('pre_backoff'),
      ...Array<string>(3).fill('backoff'),
      ...Array<string>(2).fill('post_backoff'),
    ]);
    expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('is sent to the undeliverable queue once after it is exhausted, with its message', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 1 }));
    world.subscriber.script(world.url, [status(500)]);
    await world.publish();

    expect(world.undeliverables.sent).toHaveLength(1);
    expect(world.undeliverables.sent[0]).toMatchObject({
      delivery: { status: 'exhausted', attempts: [{ number: 1 }, { number: 2 }] },
      body: { kind: 'inline', message: { data: aMessage().data } },
    });
    expect(await world.delivery()).toMatchObject({ pendingSteps: [], overdueAt: undefined });
  });

  it('answered with 404 is rejected without a retry, and is undeliverable', async () => {
    await world.subscribe();
    world.subscriber.script(world.url, [status(404)]);
    await world.publish();

    expect(world.subscriber.seen).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'http_404' });
    expect(world.undeliverables.sent).toHaveLength(1);
  });

  it('answered with a status that the policy lists is retried', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 1, retry_on_status: [429] }));
    world.subscriber.script(world.url, [status(429), status(200)]);
    await world.publish();

    expect(world.gaps()).toEqual([5]);
    expect((await world.delivery()).status).toBe('delivered');
  });

  it('answered with 410 is rejected as gone, and its subscription is disabled', async () => {
    await world.subscribe();
    world.subscriber.script(world.url, [status(410)]);
    await world.publish();

    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'gone', pendingSteps: [] });
    expect(await world.subscriptions.findSubscription('orders', 'subscription-1')).toMatchObject({
      disabled: { reason: 'gone' },
    });
  });

  it.each([204, 503])(
    'answered with %i and webhook-delivery: disable disables its subscription',
    async (code) => {
      await world.subscribe(aBarePolicy({ minimum_delay_retries: 3 }));
      world.subscriber.script(world.url, [status(code, { asks: 'disable' })]);
      await world.publish();

      expect(world.subscriber.seen).toHaveLength(1);
      expect(await world.delivery()).toMatchObject({
        ...(code === 204 ? { status: 'delivered' } : { status: 'rejected', reason: 'disable_requested' }),
        pendingSteps: [],
      });
      expect(await world.subscriptions.findSubscription('orders', 'subscription-1')).toMatchObject({
        disabled: { reason: 'disable_requested' },
      });
    },
  );

  it('answered with webhook-delivery: abort-message is not retried, and its subscription stays', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 3 }));
    world.subscriber.script(world.url, [status(503), status(503, { asks: 'abort-message' })]);
    await world.publish();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({ status: 'rejected', reason: 'abort_requested' });
    expect(world.undeliverables.sent).toHaveLength(1);
    expect(await world.subscriptions.findSubscription('orders', 'subscription-1')).not.toHaveProperty(
      'disabled',
    );
  });
});

describe('a change between two attempts', () => {
  it('is read before each retry: a deleted subscription cancels the delivery', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 3 }));
    world.subscriber.script(world.url, [status(500)]);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 1_000);
    await removeSubscription(world.subscriptions, 'orders', 'subscription-1');
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({
      status: 'cancelled',
      reason: 'subscription_deleted',
      overdueAt: undefined,
    });
  });

  it('of the policy does not apply: the policy at the first failure stays in force', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 2 }));
    world.subscriber.script(world.url, [status(500)]);
    await world.dispatch({ ok: true, message: aMessage() });
    await world.clock.run(world.clock.now() + 1_000);
    await removeSubscription(world.subscriptions, 'orders', 'subscription-1');
    await world.subscriptions.addSubscription(aSubscription({ options: { _retry_policy: aBarePolicy() } }));
    await world.clock.run();

    expect(world.gaps()).toEqual([5, 5]);
  });

  it('that disables the subscription cancels the delivery and stores its message', async () => {
    await world.subscribe();
    await world.subscriptions.disable('orders', 'subscription-1', { reason: 'gone', at: 0 });
    await world.publish();

    expect(world.subscriber.seen).toHaveLength(0);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'disabled' });
    expect(await world.messageRecords.find({ queue: 'orders', messageId: 'message-1' })).toHaveProperty(
      'body',
    );
  });

  it('makes no attempt after the time to live of the message', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 10 }));
    world.subscriber.script(world.url, [status(500)]);
    await world.dispatch({ ok: true, message: aMessage({ expiresAt: world.clock.now() + 15_000 }) });
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'message_expired' });
  });
});
