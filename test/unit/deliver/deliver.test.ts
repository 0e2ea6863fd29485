import { beforeEach, describe, expect, it } from 'vitest';
import { aBarePolicy, aMessage, aSubscription } from '../../support/builders.ts';
import { answered } from '../../support/delivery-builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { removeSubscription } from '../../support/remove-subscription.ts';

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

describe('the time of a retry', () => {
  it('counts from the end of the failed attempt', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 7 }));
    world.subscriber.script(world.url, [status(500, { takesMs: 4_000 }), status(200)]);
    await world.publish();

    expect(world.gaps()).toEqual([11]);
  });

  it('is moved later, never earlier, by Retry-After, even for an immediate retry, which keeps its phase', async () => {
    await world.subscribe(
      aBarePolicy({ retries_with_no_delay: 1, minimum_delay_retries: 1, minimum_delay: 30 }),
    );
    world.subscriber.script(world.url, [
      status(503, { retryAfter: '12' }),
      status(503, { retryAfter: '3' }),
      status(200),
    ]);
    await world.publish();

    expect(world.gaps()).toEqual([12, 30]);
    expect((await world.delivery()).attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      'immediate',
      'pre_backoff',
    ]);
  });

  it('is not before the date in Retry-After, however long the response took', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 1 }));
    const date = new Date(world.clock.now() + 20_000).toUTCString();
    world.subscriber.script(world.url, [status(503, { retryAfter: date, takesMs: 4_000 }), status(200)]);
    await world.publish();

    expect(world.gaps()).toEqual([20]);
  });

  it('is not moved beyond the cap by Retry-After, and not at all by a malformed one', async () => {
    await world.subscribe(aBarePolicy({ minimum_delay_retries: 2 }));
    world.subscriber.script(world.url, [
      status(503, { retryAfter: '999999' }),
      status(503, { retryAfter: 'soon' }),
      status(200),
    ]);
    await world.publish();

    expect(world.gaps()).toEqual([3600, 5]);
  });

  it('of an immediate retry is now after a quick failure, and follows the retry queue after a slow one', async () => {
    await world.subscribe(aBarePolicy({ retries_with_no_delay: 2 }));
    world.subscriber.script(world.url, [
      status(500, { takesMs: 1_999 }),
      status(500, { takesMs: 2_000 }),
      status(200),
    ]);
    await world.publish();

    const scheduled = world.journal.facts.filter(({ fact }) => fact === 'wake_up_set');
    expect(scheduled).toMatchObject([{ attempt: 3, by: 'sqs_delay' }]);
    expect((await world.delivery()).attempts.map(({ phase }) => phase)).toEqual([
      'initial',
      'immediate',
      'immediate',
    ]);
  });

  it('uses SQS below the threshold and a schedule from it on, both exact to the second', async () => {
    await world.subscribe(
      aBarePolicy({
        retry_backoff_function: 'linear',
        backoff_retries: 3,
        minimum_delay: 89,
        maximum_delay: 91,
      }),
    );
    world.subscriber.script(world.url, [status(500)]);
    await world.publish();

    expect(world.gaps()).toEqual([89, 90, 91]);
    expect(world.schedules.map(({ wakeUp }) => wakeUp.attempt)).toEqual([3, 4]);
    expect(world.schedules.map(({ at, wakeUp }) => (wakeUp.dueAt - at) / 1000)).toEqual([65, 65]);
  });

  it('is kept by repeated SQS delays when a schedule is refused', async () => {
    await world.subscribe(
      aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 2_000, maximum_delay: 2_000 }),
    );
    world.wakeUps.schedule = () => Promise.resolve('refused');
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish();

    expect(world.gaps()).toEqual([2_000]);
    expect(world.journal.facts).toContainEqual(
      expect.objectContaining({ fact: 'schedule_refused', attempt: 2 }),
    );
  });
});

describe('an early wake-up', () => {
  const HOUR_MS = 3_600_000;
  const COPIES = 50;

  beforeEach(() => world.subscribe(aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 10 })));

  const receiveCopies = async (dueInMs: number): Promise<void> => {
    const wakeUp = world.wakeUp(2, world.clock.now() + dueInMs);
    for (let copy = 1; copy <= COPIES; copy += 1) await world.receive(wakeUp, `copy-${copy}`);
  };

  it('becomes one schedule of all its copies if they are due after the maximum SQS delay', async () => {
    await receiveCopies(HOUR_MS);

    expect(world.schedules).toHaveLength(1);
    expect(world.retryQueue.waiting).toBe(0);
  });

  it('is delayed by SQS, each copy, if they are due within its maximum delay', async () => {
    await receiveCopies(15 * 60_000);

    expect(world.schedules).toHaveLength(0);
    expect(world.retryQueue.waiting).toBe(COPIES);
  });

  it('by a fraction of a second is waited for, so that the attempt starts exactly on time', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    world.wakeUps.sendDelayed = () => Promise.resolve();
    const startedAt = world.clock.now();
    await world.publish(4_700);
    world.wakeUps.sendDelayed = send;
    // 5.3 s are left, and SQS delays by whole seconds: the wake-up arrives after 5 s.
    await world.receive(world.wakeUp(2, startedAt + 10_000), 'early');
    await world.clock.run();

    expect(world.subscriber.seen.map(({ at }) => at - startedAt)).toEqual([0, 10_000]);
  });
});

describe('with two retries', () => {
  beforeEach(() =>
    world.subscribe(aBarePolicy({ minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 })),
  );

  describe('a copy of a job or wake-up', () => {
    it('is a no-op while the first one holds the lease, for any number of copies', async () => {
      world.subscriber.script(world.url, [status(200, { takesMs: 3_000 })]);
      const copies = Array.from({ length: 50 }, (_, index) => world.receive(world.job(), `copy-${index}`));
      await world.clock.run();
      await Promise.all(copies);

      expect(world.subscriber.seen).toHaveLength(1);
    });

    it('does not call the subscriber again after a success', async () => {
      await world.publish(1_000);
      await world.receive(world.job(), 'copy');
      await world.receive(world.wakeUp(2), 'late');

      expect(world.subscriber.seen).toHaveLength(1);
      expect((await world.delivery()).attempts).toHaveLength(1);
    });

    it('for an earlier attempt does not change the time of the pending retry', async () => {
      world.subscriber.script(world.url, [status(500), status(200)]);
      await world.publish(1_000);
      await world.receive(world.job(), 'copy');
      await world.clock.run();

      expect(world.gaps()).toEqual([10]);
    });

    it('that is due before the recorded time waits for the recorded time', async () => {
      world.subscriber.script(world.url, [status(500), status(200)]);
      await world.publish(1_000);
      await world.receive(world.wakeUp(2), 'eager');
      expect(world.subscriber.seen).toHaveLength(1);
      await world.clock.run();

      expect(world.gaps()).toEqual([10]);
    });

    it('for a later attempt than the recorded next one makes no attempt', async () => {
      world.subscriber.script(world.url, [status(500)]);
      await world.publish(1_000);
      await world.receive(world.wakeUp(3), 'ahead');

      expect(world.subscriber.seen).toHaveLength(1);
      expect(world.journal.facts).toContainEqual(
        expect.objectContaining({ fact: 'wake_up_dropped', reason: 'stale' }),
      );
    });

    it('without a delivery record is dropped and logged', async () => {
      await world.receive(world.wakeUp(2), 'orphan');

      expect(world.subscriber.seen).toHaveLength(0);
      expect(world.journal.facts).toContainEqual(
        expect.objectContaining({ fact: 'wake_up_dropped', reason: 'no_record' }),
      );
    });
  });

  describe('after a crash', () => {
    const crash = (): Promise<never> => Promise.reject(new Error('crash'));

    it('between the claim and the record, the attempt is repeated under its number and counted as lost', async () => {
      world.subscriber.onRequest = (_request, count) => (count === 1 ? crash() : Promise.resolve());
      await world.publish(1_000);
      await world.clock.run();

      expect(world.subscriber.seen).toHaveLength(2);
      expect(await world.delivery()).toMatchObject({
        status: 'delivered',
        attempts: [{ number: 1, lost: 1 }],
        lost: 0,
      });
    });

    it('between the record and the wake-up, the redelivered message schedules the wake-up once', async () => {
      world.subscriber.script(world.url, [status(500), status(200)]);
      const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
      world.wakeUps.sendDelayed = () => {
        world.wakeUps.sendDelayed = sendDelayed;
        return crash();
      };
      await world.publish(1_000);
      await world.clock.run();

      expect(world.subscriber.seen).toHaveLength(2);
      expect(await world.delivery()).toMatchObject({
        status: 'delivered',
        attempts: [{ number: 1 }, { number: 2 }],
      });
      expect(await world.delivery()).not.toHaveProperty('attempts.1.lost');
    });

    it('before the pending steps, the redelivered message does them', async () => {
      world.subscriber.script(world.url, [status(400)]);
      const send = world.undeliverables.send.bind(world.undeliverables);
      world.undeliverables.send = () => {
        world.undeliverables.send = send;
        return crash();
      };
      await world.publish(1_000);
      await world.clock.run();

      expect(world.undeliverables.sent).toHaveLength(1);
      expect(await world.delivery()).toMatchObject({ status: 'rejected', pendingSteps: [] });
    });

    it('a result whose lease was taken over is stored as a late result, and a success wins', async () => {
      world.subscriber.script(world.url, [
        status(200, { takesMs: 60_000 }),
        status(500, { takesMs: 60_000 }),
        status(500),
      ]);
      const slow = world.receive(world.job(), 'slow');
      await world.clock.run(world.clock.now() + 25_000);
      const other = world.receive(world.job(), 'other', { receiveCount: 2 });
      await world.clock.run();
      await Promise.all([slow, other]);

      const delivery = await world.delivery();
      expect(delivery).toMatchObject({ status: 'delivered', attempts: [], overdueAt: undefined });
      expect(delivery.lateResults).toMatchObject([{ outcome: 'delivered' }, { outcome: 'failed', lost: 1 }]);
      expect(world.subscriber.seen).toHaveLength(2);
    });
  });

  describe('an invocation that runs out of time', () => {
    it('sends the work as a new message instead of failing the receive', async () => {
      await world.receive(world.job(), 'hurried', { remainingMs: 10_000 });
      expect(world.subscriber.seen).toHaveLength(0);
      expect(world.deliveryJobs.waiting).toBe(1);
      await world.clock.run();

      expect((await world.delivery()).status).toBe('delivered');
    });
  });

  describe('a retry whose message no longer exists', () => {
    it('is dead-lettered and cancelled with its reason instead of retrying for ever', async () => {
      world.subscriber.script(world.url, [status(500)]);
      await world.publish(1_000);
      world.messageRecords.find = () => Promise.resolve(undefined);
      await world.clock.run();

      expect(world.deadLetters.sent).toMatchObject([{ reason: 'body_missing' }]);
      expect(await world.delivery()).toMatchObject({
        status: 'cancelled',
        reason: 'body_missing',
        overdueAt: undefined,
      });
    });
  });
});
