import { beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { withExpiringBodies } from '../../support/in-memory/expiring-bodies.ts';
import { limitedWorld, type LimitedWorld } from '../../support/in-memory/limited-world.ts';
import {
  type OneSubscriberWorld,
  oneSubscriberWorld,
  subscribedWorld,
} from '../../support/in-memory/one-subscriber-world.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { numbered, pressedWorld, type PressedWorld } from '../../support/in-memory/pressed-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

describe('wake-ups that come early', () => {
  const HOUR_MS = 3_600_000;

  const COPIES = 50;

  let world: OneSubscriberWorld;

  beforeEach(async () => {
    world = await subscribedWorld({ minimum_delay_retries: 1, minimum_delay: 10 });
  });

  const receiveCopies = async (dueInMs: number): Promise<void> => {
    const wakeUp = world.wakeUp(2, world.clock.now() + dueInMs);
    for (let copy = 1; copy <= COPIES; copy += 1) await world.receive(wakeUp, `copy-${copy}`);
  };

  describe('copies of an early wake-up', () => {
    it('become one schedule if they are due after the maximum SQS delay', async () => {
      await receiveCopies(HOUR_MS);

      expect(world.schedules).toHaveLength(1);
      expect(world.retryQueue.waiting).toBe(0);
    });

    it('are each delayed by SQS if they are due within its maximum delay', async () => {
      await receiveCopies(15 * 60_000);

      expect(world.schedules).toHaveLength(0);
      expect(world.retryQueue.waiting).toBe(COPIES);
    });
  });

  describe('a wake-up that arrives a fraction of a second early', () => {
    it('is waited for, so that the attempt starts exactly on time', async () => {
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
});

describe('the time of a retry', () => {
  let world: OneSubscriberWorld;

  beforeEach(() => {
    world = oneSubscriberWorld();
  });

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

describe('attempts that wait for a slot', () => {
  let world: LimitedWorld['world'];

  let startedAt: LimitedWorld['startedAt'];

  let subscribe: LimitedWorld['subscribe'];

  let publish: LimitedWorld['publish'];

  let requestedAt: LimitedWorld['requestedAt'];

  let deliveryOf: LimitedWorld['deliveryOf'];

  let writes: string[];

  let wakeUps: { attempt: number; dueAt: number }[];

  let reserved: number;

  beforeEach(async () => {
    ({ world, startedAt, subscribe, publish, requestedAt, deliveryOf } = await limitedWorld());
    [writes, wakeUps, reserved] = [[], [], 0];
    const { deliveries, rateLimits } = world;
    const [write, reserve, send] = [
      deliveries.write.bind(deliveries),
      rateLimits.reserve.bind(rateLimits),
      world.wakeUps.sendDelayed.bind(world.wakeUps),
    ];
    deliveries.write = (transition) => {
      writes.push(transition.name);
      return write(transition);
    };
    rateLimits.reserve = async (...args) => {
      const slot = await reserve(...args);
      if (slot.epoch !== undefined) reserved += 1;
      return slot;
    };
    world.wakeUps.sendDelayed = (wakeUp, delaySeconds) => {
      wakeUps.push(wakeUp);
      return send(wakeUp, delaySeconds);
    };
  });

  const times = (name: string): number => writes.filter((one) => one === name).length;

  describe('a first attempt that waits for a rate-limit slot', () => {
    it('is recorded by one write, without a claim', async () => {
      await subscribe(0.1);
      await publish(20);
      await world.clock.run(startedAt + 5_000);

      expect([times('open'), times('await_slot'), times('record'), writes.length]).toEqual([1, 19, 1, 21]);
      expect(await deliveryOf('m19')).toMatchObject({ status: 'pending', attempts: [], lost: 0 });
    });

    it('releases the second slot if its job is received twice, for the next message', async () => {
      await subscribe(0.1);
      const send = world.deliveryJobs.send.bind(world.deliveryJobs);
      world.deliveryJobs.send = (job) => {
        send(job);
        send(job, 3);
      };
      await publish(20);
      await world.clock.run(startedAt + 5_000);
      await publish(1, 20);
      await world.clock.run();

      expect(requestedAt()).toHaveLength(21);
      expect(requestedAt().at(-1)).toBe(20 * 10.5);
    });

    it('is scheduled by the next receive of its job if scheduling failed', async () => {
      await subscribe(0.1);
      await publish(1);
      await world.clock.run(startedAt + 1_000);
      const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
      world.wakeUps.sendDelayed = () => Promise.reject(new Error('SQS is down'));
      await publish(1, 1);
      await world.clock.run(startedAt + 2_000);
      world.wakeUps.sendDelayed = send;
      await world.clock.run(startedAt + 20_000);

      expect(requestedAt()).toEqual([0, 10.5]);
    });
  });

  describe('a retry of a rate-limited subscription with many waiting deliveries', () => {
    const failing = (): void => {
      world.subscriber.script(SUBSCRIBER_URL, [status(500)]);
    };

    it('is woken once for its slot, not at the end of its delay', async () => {
      failing();
      await subscribe(1, aBarePolicy({ minimum_delay_retries: 3, minimum_delay: 5, maximum_delay: 5 }));
      await publish(50);
      await world.clock.run();

      const { attempts, status: end } = await deliveryOf('m30');
      expect([attempts.length, end]).toEqual([4, 'exhausted']);
      expect(requestedAt()).toHaveLength(200);
      expect(wakeUps.length).toBeLessThanOrEqual(200);
      expect(reserved).toBeLessThanOrEqual(201);
    });

    it('is not sent before its policy allows', async () => {
      failing();
      await subscribe(1, aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 20, maximum_delay: 20 }));
      await publish(10);
      await world.clock.run();

      for (let index = 0; index < 10; index += 1) {
        const { attempts } = await deliveryOf(`m${index}`);
        const [first, retry] = attempts;
        expect((retry?.startedAt ?? 0) - (first?.startedAt ?? 0)).toBeGreaterThanOrEqual(20_000);
      }
    });

    it('reserves no slot if its delay is longer than the wait', async () => {
      failing();
      await subscribe(1, aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 600, maximum_delay: 600 }));
      await publish(5);
      await world.clock.run(startedAt + 60_000);

      expect(reserved).toBe(5);
      expect((await deliveryOf('m4')).slot).toBeUndefined();
    });
  });
});

describe('waits of months', () => {
  const DAYS = 120;

  let world: PipelineWorld;

  let startedAt: number;

  let extended: number;

  /** A subscriber of a full line for as long: each delivery asks again a day later. */
  const fullLine = async (options = {}): Promise<void> => {
    const { rateLimits, clock } = world;
    const reserve = rateLimits.reserve.bind(rateLimits);
    rateLimits.reserve = (...args) =>
      clock.now() < startedAt + DAYS * DAY_MS
        ? Promise.resolve({ at: clock.now() + DAY_MS })
        : reserve(...args);
    await world.subscriptions.addSubscription(
      aSubscription({ options: { max_per_second: 1, _retry_policy: aBarePolicy(), ...options } }),
    );
  };

  beforeEach(() => {
    world = pipelineWorld();
    withExpiringBodies(world);
    startedAt = world.clock.now();
    extended = 0;
    const { messageRecords } = world;
    const keepBody = messageRecords.keepBody.bind(messageRecords);
    messageRecords.keepBody = (...args) => {
      extended += 1;
      return keepBody(...args);
    };
  });

  describe('a delivery that waits for longer than the longest schedule', () => {
    it.each([
      ['small', 10, {}],
      ['of 9 KB', 9 * 1024, {}],
      ['of 70 KB', 70 * 1024, {}],
      ['of 70 KB, in a queue that keeps less', 70 * 1024, { _retention_days: 15 }],
    ])(
      'is sent with its data, kept again only when it would expire: a message %s',
      async (_what, bytes, metadata) => {
        await world.subscriptions.putQueue(aQueue({ metadata }));
        await fullLine();
        await world.dispatch({ ok: true, message: aMessage({ data: JSON.stringify('x'.repeat(bytes)) }) });
        await world.clock.run(startedAt + (DAYS - 1) * DAY_MS);
        expect(await world.delivery()).toMatchObject({ status: 'pending', attempts: [] });
        expect(extended).toBeLessThan(9);
        await world.clock.run();

        expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
        expect(world.subscriber.seen).toHaveLength(1);
      },
    );

    it('is cancelled if its data was erased meanwhile, which is not kept again', async () => {
      await world.subscriptions.putQueue(aQueue());
      await fullLine();
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run(startedAt + DAY_MS);
      await world.messageRecords.eraseBody({ queue: 'orders', messageId: 'message-1' }, world.clock.now());
      await world.clock.run();

      expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
    });
  });

  describe('a delivery within its policy', () => {
    it('has its data kept once', async () => {
      await world.subscriptions.putQueue(aQueue());
      const policy = aBarePolicy({ maximum_delay_retries: 2, maximum_delay: 7 * 86_400 });
      world.subscriber.script(SUBSCRIBER_URL, [status(500)]);
      world.settings.disableFailingAfterMs = 0;
      await world.subscriptions.addSubscription(aSubscription({ options: { _retry_policy: policy } }));
      await world.dispatch({ ok: true, message: aMessage() });
      await world.clock.run();

      expect(await world.delivery()).toMatchObject({ status: 'exhausted' });
      expect([world.subscriber.seen.length, extended]).toEqual([3, 1]);
    });
  });
});

describe('without switches, what one delivery meets delays no other', () => {
  const OFF = { adaptToThrottling: false, holdWhileDown: false };

  let pressed: PressedWorld;

  beforeEach(() => {
    pressed = pressedWorld(pipelineWorld(), OFF);
  });

  /** Seconds from the first request to each further one. */
  const retriedAfter = (messageId: string): number[] => {
    const { seen } = pressed.world.subscriber;
    const own = seen.filter(({ request }) => request.headers['webhook-id'] === messageId).map(({ at }) => at);
    return own.map((at) => Math.round((at - (own[0] ?? NaN)) / 100) / 10).slice(1);
  };

  it.each([
    ['503', status(503, { takesMs: 20 })],
    ['503 with Retry-After', status(503, { takesMs: 20, retryAfter: '3' })],
    ['429 that the policy retries', status(429, { takesMs: 20 })],
    ['no connection', { kind: 'unanswered', error: 'connection_refused' } as const],
  ])('100 deliveries to a subscriber that always answers %s follow their policy', async (_, reply) => {
    const policy = { minimum_delay_retries: 2, minimum_delay: 5, retry_on_status: [429] };
    await pressed.subscribe({}, policy);
    pressed.world.subscriber.script(pressed.url, [reply]);
    const ids = numbered(100);
    await pressed.publish(...ids);
    await pressed.world.clock.run();

    expect(pressed.world.subscriber.seen).toHaveLength(300);
    for (const id of ids) {
      expect(retriedAfter(id)).toEqual([expect.closeTo(5, 0), expect.closeTo(10, 0)]);
      expect(await pressed.deliveryOf(id)).toMatchObject({ status: 'exhausted' });
    }
    expect(await pressed.pressure()).toBeUndefined();
    expect(pressed.events()).toEqual([]);
  });

  it('a 429 is what the policy says: rejected, unless it is listed', async () => {
    await pressed.subscribe({}, { minimum_delay_retries: 1 });
    pressed.world.subscriber.script(pressed.url, [status(429)]);
    await pressed.publish('rejected');
    await pressed.world.clock.run();
    expect((await pressed.deliveryOf('rejected')).status).toBe('rejected');
  });

  it('with adapt_to_throttling alone, an outage opens no circuit', async () => {
    await pressed.subscribe({ adapt_to_throttling: true }, { minimum_delay_retries: 2 });
    pressed.world.subscriber.script(pressed.url, [status(503, { takesMs: 20 })]);
    await pressed.publish(...numbered(30));
    await pressed.world.clock.run();
    expect(pressed.world.subscriber.seen).toHaveLength(90);
    expect(await pressed.pressure()).toBeUndefined();
  });

  it('with hold_while_down alone, a 429 slows no other delivery', async () => {
    const policy = { minimum_delay_retries: 2, minimum_delay: 5, retry_on_status: [429] };
    await pressed.subscribe({ hold_while_down: true }, policy);
    pressed.world.subscriber.script(pressed.url, [status(429, { takesMs: 20, retryAfter: '1' })]);
    await pressed.publish(...numbered(30));
    await pressed.world.clock.run();
    expect(pressed.world.subscriber.seen).toHaveLength(90);
    expect(await pressed.pressure()).toBeUndefined();
  });

  it('with hold_while_down alone, 503 with Retry-After counts as an outage', async () => {
    await pressed.subscribe({ hold_while_down: true }, { minimum_delay_retries: 20, minimum_delay: 5 });
    pressed.world.subscriber.script(pressed.url, [status(503, { takesMs: 20, retryAfter: '1' })]);
    await pressed.publish(...numbered(30));
    await pressed.runFor(60_000);
    expect(await pressed.pressure()).toMatchObject({ state: 'held' });
  });
});
