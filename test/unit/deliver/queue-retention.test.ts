import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Delivery, DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { aBarePolicy, aMessage, aQueue, aSubscription, SUBSCRIBER_URL } from '../../support/builders.ts';
import { withExpiringBodies } from '../../support/in-memory/expiring-bodies.ts';
import { pipelineWorld, type PipelineWorld } from '../../support/in-memory/pipeline-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

describe('the records of a queue that keeps 15 days, in a deployment that keeps 30', () => {
  const FAILING = 'https://failing.example/hook';
  const key: DeliveryKey = { queue: 'orders', messageId: 'message-1', subscriptionId: 'failing', bucket: 0 };
  const message = { queue: 'orders', messageId: 'message-1' };
  let world: PipelineWorld;
  let kept: [transition: string, days: number][];

  /** Transitions that would shorten the life of their record, which takes a second write. */
  let shorter: string[];

  /** From its last event, or from the time at which it is due, to its expiry. */
  const daysOf = ({ updatedAt, overdueAt = 0, next, expiresAt }: Delivery): number =>
    Math.round((expiresAt - Math.max(updatedAt, overdueAt, next?.dueAt ?? 0)) / DAY_MS);

  beforeEach(async () => {
    world = pipelineWorld();
    [kept, shorter] = [[], []];
    const { deliveries } = world;
    const write = deliveries.write.bind(deliveries);
    deliveries.write = async (transition) => {
      const before = await deliveries.find(transition.key);
      const { expiresAt = Infinity } = 'change' in transition ? transition.change : {};
      if (expiresAt < (before?.expiresAt ?? 0)) shorter.push(transition.name);
      const result = await write(transition);
      if (result.kind === 'written') kept.push([transition.name, daysOf(result.delivery)]);
      return result;
    };
    await world.subscriptions.putQueue(aQueue({ metadata: { _retention_days: 15 } }));
    const options = { _retry_policy: aBarePolicy({ minimum_delay_retries: 1, minimum_delay: 3_600 }) };
    await world.subscriptions.addSubscription(aSubscription({ id: 'failing', subscriber: FAILING, options }));
    await world.subscriptions.addSubscription(aSubscription({ id: 'good', options }));
    world.subscriber.script(FAILING, [status(500)]);
  });

  afterEach(() => {
    expect(shorter).toEqual([]);
  });

  const publish = () => world.dispatch({ ok: true, message: aMessage() });

  const accepted = async (): Promise<MessageRecord> => {
    const found = await world.messageRecords.find(message);
    if (found !== undefined) return found;
    await publish();
    return accepted();
  };

  const transitions = () => kept.map(([name]) => name);
  const others = () => kept.filter(([, days]) => days !== 15);

  it('stay for 15 days after each write: attempts, retries, pending steps and rounds by hand', async () => {
    await publish();
    await world.clock.run();
    expect(await world.delivery('failing')).toMatchObject({ status: 'exhausted' });
    await retryDelivery(world.byHandContext, key);
    await world.clock.run(world.clock.now() + 1_000);
    await cancelDelivery(world.byHandContext, key, 'manual');

    const { status: ended, attempts } = await world.delivery('failing');
    expect([ended, attempts.length]).toEqual(['cancelled', 3]);
    expect(new Set(transitions())).toEqual(new Set(['record', 'claim', 'settle', 'reopen', 'cancel']));
    expect(others()).toEqual([]);
    const { expiresAt, updatedAt } = await world.delivery('good');
    expect(expiresAt - updatedAt).toBe(15 * DAY_MS);
  });

  it('stay as long while reconcile sends a wake-up that is lost', async () => {
    world.wakeUps.schedule = () => Promise.resolve('scheduled');
    await publish();
    await world.clock.run();
    world.wakeUps.sendDelayed = () => Promise.resolve();
    for (let run = 0; run < 3; run += 1) {
      await world.clock.run(world.clock.now() + 5 * DAY_MS);
      await world.reconcile();
    }
    expect(transitions().filter((name) => name === 'postpone')).toHaveLength(3);
    expect(others()).toEqual([]);
  });

  it('are written once where reconcile has woken them', async () => {
    world.wakeUps.schedule = () => Promise.resolve('scheduled');
    world.subscriber.script(FAILING, [status(500), status(200)]);
    await publish();
    await world.clock.run(world.clock.now() + 2 * 3_600_000);
    await world.reconcile();
    await world.clock.run();

    expect(transitions()).toContain('postpone');
    expect(await world.delivery('failing')).toMatchObject({ status: 'delivered' });
  });

  it.each([
    ['by then', false],
    ['when its invocation had no time for it and sent it again', true],
  ])(
    'stay as long where a wake-up comes days late and its subscription is deleted %s',
    async (_, isShort) => {
      world.wakeUps.schedule = () => Promise.resolve('scheduled');
      await publish();
      await world.clock.run();
      const { next } = await world.delivery('failing');
      await world.clock.run(world.clock.now() + 3 * DAY_MS);
      const deletion = { queue: 'orders', subscriptionId: 'failing', now: world.clock.now() };
      await world.subscriptions.markDeleted(deletion);
      const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
      await sendDelayed({ kind: 'wake_up', key, attempt: 2, dueAt: next?.dueAt ?? 0 }, 0);
      if (isShort) {
        const { invocationMs } = world.settings;
        world.settings.invocationMs = 1_000;
        world.wakeUps.sendDelayed = (...again) => {
          world.settings.invocationMs = invocationMs;
          return sendDelayed(...again);
        };
      }
      await world.clock.run();
      expect(kept.at(-1)).toEqual(['cancel', 15]);
    },
  );

  it('stay as long while they wait for a slot', async () => {
    world.rateLimits.reserve = () => Promise.resolve({ at: world.clock.now() + DAY_MS });
    await world.subscriptions.addSubscription(
      aSubscription({ id: 'limited', subscriber: 'https://limited.example', options: { max_per_second: 1 } }),
    );
    await publish();
    await world.clock.run(world.clock.now() + 5 * DAY_MS);

    expect(transitions()).toContain('await_slot');
    expect(others()).toEqual([]);
  });

  it('are forgotten a week later: the message, and its body after the longest schedule', async () => {
    const { acceptedAt } = await accepted();
    expect((await accepted()).expiresAt).toBe(acceptedAt + (15 + 7) * DAY_MS);
    await world.clock.run();
    const days = ((await accepted()).expiresAt - acceptedAt) / DAY_MS;
    // 15 days of the longest schedule, and four of the longest Retry-After.
    expect(days).toBeGreaterThan(15 + 19);
    expect(days).toBeLessThan(15 + 21);
  });

  it('are those of the deployment where it keeps less by now', async () => {
    await publish();
    world.settings.retentionMs = 10 * DAY_MS;
    await world.clock.run();
    expect(new Set(kept.map(([, days]) => days))).toEqual(new Set([10]));
  });

  it.each([30, 31, 14, 'x'])('store nothing where the queue says %j', async (_retention_days) => {
    await world.subscriptions.putQueue(aQueue({ metadata: { _retention_days } }));
    await publish();
    await world.clock.run();
    expect(await world.delivery('failing')).not.toHaveProperty('retentionDays', expect.any(Number));
    expect((await accepted()).expiresAt).toBeGreaterThan(world.clock.now() + 30 * DAY_MS);
  });

  it('are no longer repeated by a copy of the message when they may be gone', async () => {
    await publish();
    await world.clock.run(world.clock.now() + 14 * DAY_MS - 60_000);
    await publish();
    const late = () => world.journal.facts.filter((fact) => fact.fact === 'message_accepted' && fact.late);
    expect(late()).toEqual([]);
    await world.clock.run(world.clock.now() + 60_000);
    await publish();
    expect(late()).toHaveLength(1);
  });
});

describe('a body that expires', () => {
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
