import { beforeEach, describe, expect, it, vi } from 'vitest';
import { toMeasures } from '../../../shared/adapters/log/journal-measures.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { aBarePolicy, aMessage } from '../../support/builders.ts';
import { answered } from '../../support/delivery-builders.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { removeSubscription } from '../../support/remove-subscription.ts';

const DISABLE = { asks: 'disable' } as const;
const ABORT = { asks: 'abort-message' } as const;
let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

/** How often each final status was counted by the metrics derived from the logged facts. */
const finalCounts = (): Record<string, number> => {
  const counted: Record<string, number> = {};
  for (const { name, value } of world.journal.facts.flatMap(toMeasures))
    if (/^Deliveries(Delivered|Rejected|Exhausted|Cancelled)$/.test(name))
      counted[name] = (counted[name] ?? 0) + value;
  return counted;
};

describe('a delivery', () => {
  it('that is answered with a 2xx takes one request and leaves no stored body or message', async () => {
    await world.subscribe();
    await world.deliver();

    expect(world.subscriber.seen).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1, phase: 'initial', result: answered(200) }],
    });
    expect(await world.messageRecords.find(world.key)).not.toHaveProperty('body');
    expect([world.deliveryJobs.waiting, world.retryQueue.waiting]).toEqual([0, 0]);
    expect(world.undeliverables.sent).toEqual([]);
  });

  it('during whose request the clock is set back took no time, rather than less', async () => {
    await world.subscribe();
    const now = world.clock.now.bind(world.clock);
    world.subscriber.onRequest = () => {
      vi.spyOn(world.clock, 'now').mockImplementation(() => now() - 2_000);
      return Promise.resolve();
    };
    await world.deliver();
    expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ durationMs: 0 }] });
  });

  it('sends the data byte for byte as published, with the same webhook-id at every attempt', async () => {
    await world.subscribe();
    // Without a policy, the deployment's applies.
    await world.change((current) => ({ ...current, options: {} }));
    world.subscriber.script(world.url, [status(503), status(503), status(503), status(503), status(200)]);
    await world.deliver();

    expect(world.subscriber.seen.map(({ request }) => request.body)).toEqual(
      Array(5).fill(
        '{"id":"message-1","queue":"orders","type":"order.created","timestamp":"2026-01-01T00:00:00.000Z","data":{"total":12345678901234567890,"b":1,"a":2}}',
      ),
    );
    expect(new Set(world.requestedMessages())).toEqual(new Set(['message-1']));
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
    await world.deliver();

    expect(world.gaps()).toEqual([0, 0, 5, 5, 5, 15, 25, 25, 25]);
    const { attempts, ...ended } = await world.delivery();
    expect(ended).toMatchObject({ status: 'exhausted', reason: 'retries_exhausted', overdueAt: undefined });
    expect(finalCounts()).toEqual({ DeliveriesExhausted: 1 });
    const phases = ['initial', 'immediate', 'pre_backoff', 'backoff', 'post_backoff'];
    const expected = [1, 2, 2, 3, 2].flatMap((count, index) => Array<unknown>(count).fill(phases[index]));
    expect(attempts).toMatchObject(expected.map((phase, index) => ({ number: index + 1, phase })));
    const [first, ...retries] = attempts;
    expect(first).not.toHaveProperty('dueAt');
    expect(retries.map(({ dueAt }) => dueAt)).toEqual(retries.map(({ startedAt }) => startedAt));
    expect(world.undeliverables.sent).toMatchObject([
      { delivery: { status: 'exhausted' }, body: { kind: 'inline', message: { data: aMessage().data } } },
    ]);
  });

  it.each([
    ['404', [status(404)], 'http_404', undefined],
    ['410', [status(410)], 'gone', 'gone'],
    ['429, which its policy lists, then 200', [status(429), status(200)], undefined, undefined],
    ['204 and `disable`', [status(204, DISABLE)], undefined, 'disable_requested'],
    ['503 and `disable`', [status(503, DISABLE)], 'disable_requested', 'disable_requested'],
    ['503, then `abort-message`', [status(503), status(503, ABORT)], 'abort_requested', undefined],
  ] as const)('answered with %s needs no further request', async (_, replies, rejectedBy, disabledBy) => {
    await world.subscribe({ minimum_delay_retries: 3, retry_on_status: [429] });
    world.subscriber.script(world.url, replies);
    await world.deliver();

    expect(world.subscriber.seen).toHaveLength(replies.length);
    const { status: ended, reason, pendingSteps } = await world.delivery();
    expect([ended, reason, pendingSteps]).toEqual([rejectedBy ? 'rejected' : 'delivered', rejectedBy, []]);
    expect(world.undeliverables.sent).toHaveLength(rejectedBy ? 1 : 0);
    expect((await world.subscription()).disabled?.reason).toBe(disabledBy);
    const isKept = Object.hasOwn((await world.messageRecords.find(world.key)) ?? {}, 'body');
    expect(isKept).toBe(rejectedBy !== undefined || replies.length > 1);
    expect(finalCounts()).toEqual(rejectedBy ? { DeliveriesRejected: 1 } : { DeliveriesDelivered: 1 });
  });
});

describe('the message of a delivery whose subscription is deleted before its first attempt', () => {
  const target = () => ({ queue: 'orders', subscriptionId: 'subscription-1', now: world.clock.now() });
  const isKept = async () => (await world.messageRecords.find(world.key))?.body !== undefined;

  it.each([
    ['is kept while that can be undone', true, 'marked', true],
    ['is kept where the record is gone, because its queue may be in an archive', true, 'queue', true],
    ['is not kept where that cannot be undone', false, 'marked', false],
    ['is not kept where the deployment leaves no archives', false, 'none', false],
  ])('%s', async (_, canUndo, how, expected) => {
    await world.subscribe({});
    world.settings.leavesArchives = how !== 'none';
    await world.publish();
    const until = canUndo ? world.clock.now() + 1000 : undefined;
    if (how === 'marked') await world.subscriptions.markDeleted(target(), until);
    else await world.subscriptions.deleteQueue('orders', world.clock.now(), until);
    await world.clock.run();
    const reason = how === 'marked' ? 'subscription_deleted' : 'queue_deleted';
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason });
    expect(await isKept()).toBe(expected);
  });
});

describe('a change between two attempts', () => {
  it('is read before each retry: a deleted subscription cancels the delivery', async () => {
    await world.subscribe({ minimum_delay_retries: 3 });
    world.subscriber.script(world.url, [status(500)]);
    await world.publish();
    await world.runFor(1_000);
    await removeSubscription(world.subscriptions, 'orders', 'subscription-1');
    const find = vi.spyOn(world.subscriptions, 'find');
    await world.clock.run();
    expect(find).not.toHaveBeenCalledWith('orders', 'subscription-1', 'cached');

    expect(world.subscriber.seen).toHaveLength(1);
    expect(await world.delivery()).toMatchObject({
      status: 'cancelled',
      reason: 'subscription_deleted',
      overdueAt: undefined,
    });
  });

  it('is read before an immediate retry: a subscription deleted during the request ends the delivery', async () => {
    await world.subscribe({ retries_with_no_delay: 1 });
    world.subscriber.script(world.url, [status(500)]);
    world.subscriber.onRequest = () => removeSubscription(world.subscriptions, 'orders', 'subscription-1');
    await world.deliver();
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', attempts: [{ number: 1 }] });
    expect(finalCounts()).toEqual({ DeliveriesCancelled: 1 });
  });

  it('of the policy does not apply: the policy at the first failure stays in force', async () => {
    await world.subscribe({ minimum_delay_retries: 2 });
    world.subscriber.script(world.url, [status(500)]);
    await world.publish();
    await world.runFor(1_000);
    await world.change((current) => ({ ...current, options: { _retry_policy: aBarePolicy() } }));
    await world.clock.run();

    expect(world.gaps()).toEqual([5, 5]);
  });

  it('that disables the subscription cancels the delivery and stores its message', async () => {
    await world.subscribe({}, { disabled: { reason: 'gone', at: 0 } });
    await world.deliver();

    expect(world.subscriber.seen).toHaveLength(0);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'disabled' });
    expect(await world.messageRecords.find(world.key)).toHaveProperty('body');
  });

  it('makes no attempt after the time to live of the message', async () => {
    await world.subscribe({ minimum_delay_retries: 3, minimum_delay: 10 });
    world.subscriber.script(world.url, [status(500)]);
    await world.dispatch({ ok: true, message: aMessage({ expiresAt: world.startedAt + 15_000 }) });
    await world.clock.run();

    expect(world.subscriber.seen).toHaveLength(2);
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'message_expired' });
  });

  it('ends with the failure after which the message expires before its next attempt', async () => {
    await world.subscribe({ minimum_delay_retries: 1, minimum_delay: 3_600, maximum_delay: 3_600 });
    world.subscriber.script(world.url, [status(500)]);
    await world.dispatch({ ok: true, message: aMessage({ expiresAt: world.startedAt + 3_600_000 }) });
    await world.runFor(1_000);

    const ended = { status: 'cancelled', reason: 'message_expired', attempts: [{ number: 1 }] };
    expect(await world.delivery()).toMatchObject({ ...ended, pendingSteps: [], overdueAt: undefined });
    expect(world.undeliverables.sent).toEqual([]);
    expect(finalCounts()).toEqual({ DeliveriesCancelled: 1 });
  });
});

describe('the time of a retry', () => {
  const IN_20_S = new Date(oneSubscriberWorld().startedAt + 20_000).toUTCString();

  it.each([
    ['counts from the end of the failed attempt', { minimum_delay: 7 }, { takesMs: 4_000 }, [11]],
    ['is moved later by Retry-After', { minimum_delay: 5 }, { retryAfter: '12' }, [12]],
    ['is not moved earlier by Retry-After', { minimum_delay: 30 }, { retryAfter: '3' }, [30]],
    ['is moved by Retry-After, even if immediate', { retries_with_no_delay: 1 }, { retryAfter: '12' }, [12]],
    ['is the date in Retry-After, not later', {}, { retryAfter: IN_20_S, takesMs: 4_000 }, [20]],
    ['is not moved beyond the cap by Retry-After', {}, { retryAfter: '999999' }, [3600]],
    ['is not moved by a malformed Retry-After', {}, { retryAfter: 'soon' }, [5]],
  ])('%s', async (_, policy, answer, gaps) => {
    await world.subscribe({ minimum_delay_retries: 2, ...policy });
    world.subscriber.script(world.url, [status(503, answer), status(200)]);
    await world.deliver();

    expect(world.gaps()).toEqual(gaps);
  });

  it('of an immediate retry is now after a quick failure, and follows the retry queue after a slow one', async () => {
    await world.subscribe({ retries_with_no_delay: 2 });
    world.subscriber.script(world.url, [
      status(500, { takesMs: 1_999 }),
      status(500, { takesMs: 2_000 }),
      status(200),
    ]);
    await world.deliver();

    const scheduled = world.facts('wake_up_set');
    expect(scheduled).toMatchObject([{ attempt: 3, by: 'sqs_delay' }]);
    expect((await world.delivery()).attempts).toMatchObject([
      { phase: 'initial' },
      { phase: 'immediate' },
      { phase: 'immediate' },
    ]);
  });

  it('uses SQS below the threshold and a schedule from it on, both exact to the second', async () => {
    await world.subscribe({
      retry_backoff_function: 'linear',
      backoff_retries: 3,
      minimum_delay: 89,
      maximum_delay: 91,
    });
    const write = world.deliveries.write.bind(world.deliveries);
    world.deliveries.write = async (transition) => {
      const written = await write(transition);
      if (transition.name === 'record') await world.clock.sleep(20);
      return written;
    };
    world.subscriber.script(world.url, [status(500)]);
    await world.deliver();

    expect(world.gaps().map(Math.floor)).toEqual([89, 90, 91]);
    expect(world.schedules.map(({ wakeUp }) => wakeUp.attempt)).toEqual([3, 4]);
    expect(world.schedules.map(({ at, wakeUp }) => (wakeUp.dueAt - at) / 1000)).toEqual([65, 65]);
  });

  it('is kept by repeated SQS delays when a schedule is refused', async () => {
    await world.subscribe({ minimum_delay_retries: 1, minimum_delay: 2_000, maximum_delay: 2_000 });
    world.wakeUps.schedule = () => Promise.resolve('refused');
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.deliver();

    expect(world.gaps()).toEqual([2_000]);
    expect(world.facts('schedule_refused')[0]).toMatchObject({ attempt: 2 });
  });
});

describe('an early wake-up', () => {
  beforeEach(() => world.subscribe({ minimum_delay_retries: 1, minimum_delay: 10 }));

  it.each([
    ['becomes one schedule if it is due after the maximum SQS delay', 60, [1, 0]],
    ['is delayed by SQS, each copy, if it is due within its maximum delay', 15, [0, 50]],
  ])('of which there are fifty copies %s', async (_, minutes, expected) => {
    const wakeUp = world.wakeUp(2, world.startedAt + minutes * 60_000);
    for (let copy = 1; copy <= 50; copy += 1) await world.receive(wakeUp, `copy-${copy}`);

    expect([world.schedules.length, world.retryQueue.waiting]).toEqual(expected);
  });

  it.each([10_000, 9_500])('that names %i ms is waited for until the record is due', async (dueInMs) => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    vi.spyOn(world.wakeUps, 'sendDelayed').mockResolvedValueOnce();
    await world.publish();
    await world.runFor(4_700);
    // 5.3 s are left, and SQS delays by whole seconds: the wake-up arrives after 5 s.
    await world.receive(world.wakeUp(2, world.startedAt + dueInMs), 'early');
    await world.clock.run();

    expect(world.requestedAt()).toEqual([0, 10]);
  });

  it('reads its subscription before it is waited for, together with the others of its batch', async () => {
    const find = vi.spyOn(world.subscriptions, 'find');
    const batch = [300, 600].map((ms) => world.receive(world.wakeUp(2, world.startedAt + ms), `${ms}`));
    await vi.waitFor(() => {
      expect(find).toHaveBeenCalledTimes(2);
    });
    expect(world.clock.now()).toBe(world.startedAt);
    await world.clock.run();
    await Promise.all(batch);
  });
});

describe('with two retries', () => {
  beforeEach(() => world.subscribe({ minimum_delay_retries: 2, minimum_delay: 10, maximum_delay: 10 }));

  describe('a copy of a job or wake-up', () => {
    it('is a no-op while the first one holds the lease, for any number of copies', async () => {
      world.subscriber.script(world.url, [status(200, { takesMs: 3_000 })]);
      const copies = Array.from({ length: 50 }, (_, index) => world.receive(world.job(), `copy-${index}`));
      await world.clock.run();
      await Promise.all(copies);

      expect(world.subscriber.seen).toHaveLength(1);
    });

    it('does not call the subscriber again after a success', async () => {
      await world.deliver();
      await world.receive(world.job(), 'copy');
      await world.receive(world.wakeUp(2), 'late');

      expect(world.subscriber.seen).toHaveLength(1);
      expect((await world.delivery()).attempts).toHaveLength(1);
      expect(finalCounts()).toEqual({ DeliveriesDelivered: 1 });
    });

    it.each([
      ['an earlier attempt', () => world.job()],
      ['the recorded attempt, at an earlier time', () => world.wakeUp(2)],
    ])('for %s does not change the time of the pending retry', async (_, copy) => {
      world.subscriber.script(world.url, [status(500), status(200)]);
      await world.publish();
      await world.runFor(1_000);
      await world.receive(copy(), 'copy');
      await world.clock.run();

      expect(world.gaps()).toEqual([10]);
      expect(world.facts('wake_up_set')).toHaveLength(1);
    });

    it.each([
      ['for a later attempt than the recorded next one', 'stale', 1],
      ['without a delivery record', 'no_record', 0],
    ])('%s is dropped and logged', async (_, reason, requests) => {
      world.subscriber.script(world.url, [status(500)]);
      if (requests > 0) await world.publish();
      await world.runFor(1_000);
      await world.receive(world.wakeUp(3), 'ahead');

      expect(world.subscriber.seen).toHaveLength(requests);
      expect(world.facts('wake_up_dropped')).toMatchObject([{ reason }]);
    });
  });

  describe('after a crash', () => {
    const crash = new Error('crash');

    it('between the claim and the record, the attempt is repeated under its number and counted as lost', async () => {
      vi.spyOn(world.subscriber, 'onRequest').mockRejectedValueOnce(crash);
      await world.deliver();

      expect(world.subscriber.seen).toHaveLength(2);
      expect(await world.delivery()).toMatchObject({
        status: 'delivered',
        attempts: [{ number: 1, lost: 1 }],
        lost: 0,
      });
      expect(world.facts('lease_lost')).toHaveLength(1);
      // Reconcile may have to repeat it, and its wake-ups carry no message.
      expect(await world.messageRecords.find(world.key)).toHaveProperty('body');
    });

    it('between the record and the wake-up, the redelivered message schedules the wake-up once', async () => {
      world.subscriber.script(world.url, [status(500), status(200)]);
      vi.spyOn(world.wakeUps, 'sendDelayed').mockRejectedValueOnce(crash);
      await world.deliver();

      expect(world.subscriber.seen).toHaveLength(2);
      const delivery = await world.delivery();
      expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }, { number: 2 }] });
      expect(delivery).not.toHaveProperty('attempts.1.lost');
    });

    it('before the pending steps, the redelivered message does them', async () => {
      world.subscriber.script(world.url, [status(400)]);
      vi.spyOn(world.undeliverables, 'send').mockRejectedValueOnce(crash);
      await world.deliver();

      expect(world.undeliverables.sent).toHaveLength(1);
      expect(await world.delivery()).toMatchObject({ status: 'rejected', pendingSteps: [] });
      expect(finalCounts()).toEqual({ DeliveriesRejected: 1 });
    });

    it.each([
      [
        'a late result, and a success wins',
        [200, 500],
        { attempts: [], lateResults: [{ outcome: 'delivered' }, { outcome: 'failed', lost: 1 }] },
        [true, false],
      ],
      [
        'a late result, which a failure leaves without effect',
        [500, 200],
        { attempts: [{ outcome: 'delivered', lost: 1 }], lateResults: [{ outcome: 'failed' }] },
        [false],
      ],
    ])(
      'the answer for an overtaken lease is stored as %s',
      async (_, [first = 0, second = 0], end, decisive) => {
        world.subscriber.script(world.url, [
          status(first, { takesMs: 60_000 }),
          status(second, { takesMs: 60_000 }),
          status(second),
        ]);
        const slow = world.receive(world.job(), 'slow');
        await world.runFor(25_000);
        const other = world.receive(world.job(), 'other', { receiveCount: 2 });
        await world.clock.run();
        await Promise.all([slow, other]);

        expect(await world.delivery()).toMatchObject({ status: 'delivered', ...end, overdueAt: undefined });
        expect(world.facts('late_result').map((fact) => fact.decisive)).toEqual(decisive);
        expect(finalCounts()).toEqual({ DeliveriesDelivered: 1 });
        expect(world.subscriber.seen).toHaveLength(2);
      },
    );
  });

  it('a late success is recorded although another is recorded just before its write', async () => {
    world.subscriber.script(world.url, [status(200, { takesMs: 60_000 }), status(200, { takesMs: 35_500 })]);
    const write = world.deliveries.write.bind(world.deliveries);
    world.deliveries.write = async (transition) => {
      if (transition.name === 'record_late') await world.clock.sleep(1_000);
      return write(transition);
    };
    const slow = world.receive(world.job(), 'slow');
    await world.runFor(25_000);
    const other = world.receive(world.job(), 'other', { receiveCount: 2 });
    await world.clock.run();
    await Promise.all([slow, other]);

    expect(await world.delivery()).toMatchObject({ attempts: [{ lost: 1 }], lateResults: [{ number: 1 }] });
    expect(world.facts('late_result')).toMatchObject([{ decisive: false }]);
  });

  it('a cancellation by hand is counted once, although it is repeated', async () => {
    world.subscriber.script(world.url, [status(500)]);
    await world.publish();
    await world.runFor(1_000);
    for (let copy = 0; copy < 2; copy += 1) await cancelDelivery(world.byHandContext, world.key, 'manual');
    await world.clock.run();
    expect(finalCounts()).toEqual({ DeliveriesCancelled: 1 });
  });

  it.each([
    ['when its message was sent, before it waited in the ingress queue', undefined, -1_234, 1_234],
    ['when its message was due, if that has a delay', 60, 60_000, 0],
  ])('the logged lateness of an attempt counts from %s', async (_, delaySeconds, dueInMs, latenessMs) => {
    const { startedAt } = world;
    const delay = delaySeconds === undefined ? {} : { delaySeconds };
    await world.dispatch({ ok: true, message: aMessage(), ...delay }, '{}', startedAt - 1_234);
    await world.clock.run();
    expect(world.facts('attempt_made')).toMatchObject([{ dueAt: startedAt + dueInMs, latenessMs }]);
  });

  it('the logged lateness of a retry counts from when it is due by its policy', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.deliver();
    expect(world.facts('attempt_made')[1]).toMatchObject({ dueAt: world.startedAt + 10_000, latenessMs: 0 });
  });

  it('an invocation that runs out of time sends the work as a new message instead of failing the receive', async () => {
    await world.receive(world.job(), 'hurried', { remainingMs: 10_000 });
    expect(world.subscriber.seen).toHaveLength(0);
    expect(world.deliveryJobs.waiting).toBe(1);
    await world.clock.run();

    expect((await world.delivery()).status).toBe('delivered');
  });

  it.each([
    ['has no record', false],
    ['has a record, but was not kept', true],
  ])('a retry whose message %s is dead-lettered and cancelled', async (_, hasRecord) => {
    world.subscriber.script(world.url, [status(500)]);
    await world.publish();
    await world.runFor(1_000);
    const record = structuredClone(await world.messageRecords.find(world.key));
    delete record?.body;
    world.messageRecords.find = () => Promise.resolve(hasRecord ? record : undefined);
    await world.clock.run();

    expect(world.deadLetters.sent).toMatchObject([{ reason: 'body_missing' }]);
    expect(await world.delivery()).toMatchObject({
      status: 'cancelled',
      reason: 'body_missing',
      overdueAt: undefined,
    });
  });
});
