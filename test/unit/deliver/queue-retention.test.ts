import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Delivery } from '../../../shared/domain/delivery/delivery.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aMessage, aQueue, aSubscription } from '../../support/builders.ts';
import { withExpiringBodies } from '../../support/in-memory/expiring-bodies.ts';
import { oneSubscriberWorld, type OneSubscriberWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

const keepFor = (metadata: Record<string, unknown>) => world.subscriptions.putQueue(aQueue({ metadata }));

describe('the records of a queue that keeps 15 days, in a deployment that keeps 30', () => {
  let kept: [transition: string, days: number][];

  /** Transitions that would shorten the life of their record, which takes a second write. */
  let shorter: string[];

  /** From its last event, or from the time at which it is due, to its expiry. */
  const daysOf = ({ updatedAt, overdueAt = 0, next, expiresAt }: Delivery): number =>
    Math.round((expiresAt - Math.max(updatedAt, overdueAt, next?.dueAt ?? 0)) / DAY_MS);

  /** `subscription-1` fails, and retries once, after an hour; `good` succeeds. */
  beforeEach(async () => {
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
    await world.subscribe({ minimum_delay_retries: 1, minimum_delay: 3_600 });
    await keepFor({ _retention_days: 15 });
    await addSubscription(
      world.subscriptions,
      aSubscription({ id: 'good', subscriber: 'https://good.test' }),
    );
    world.subscriber.script(world.url, [status(500)]);
  });

  afterEach(() => {
    expect(shorter).toEqual([]);
  });

  const recordOfMessage = async (): Promise<MessageRecord> => {
    const found = await world.messageRecords.find(world.key);
    if (found === undefined) throw new Error('the message has no record');
    return found;
  };

  const transitions = () => kept.map(([name]) => name);
  const others = () => kept.filter(([, days]) => days !== 15);

  it('stay for 15 days after each write: attempts, retries, pending steps and rounds by hand', async () => {
    await world.deliver();
    expect(await world.delivery()).toMatchObject({ status: 'exhausted' });
    await retryDelivery(world.byHandContext, world.key);
    await world.runFor(1_000);
    await cancelDelivery(world.byHandContext, world.key, 'manual');

    expect(await world.delivery()).toMatchObject({ status: 'cancelled', attempts: [{}, {}, {}] });
    expect(new Set(transitions())).toEqual(new Set(['record', 'claim', 'settle', 'reopen', 'cancel']));
    expect(others()).toEqual([]);
    const { expiresAt, updatedAt } = await world.delivery('good');
    expect(expiresAt - updatedAt).toBe(15 * DAY_MS);
  });

  it('stay as long while reconcile sends a wake-up that is lost, until it is received', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    world.wakeUps.schedule = () => Promise.resolve('scheduled');
    await world.deliver();
    const lost = vi.spyOn(world.wakeUps, 'sendDelayed').mockResolvedValue();
    for (let run = 0; run < 3; run += 1) {
      await world.runFor(5 * DAY_MS);
      await world.reconcile();
    }
    expect(transitions().filter((name) => name === 'postpone')).toHaveLength(3);
    lost.mockRestore();
    await world.runFor(DAY_MS);
    await world.reconcile();
    await world.clock.run();

    expect(await world.delivery()).toMatchObject({ status: 'delivered' });
    expect(others()).toEqual([]);
  });

  it.each([
    ['by then', false],
    ['when its invocation had no time for it and sent it again', true],
  ])(
    'stay as long where a wake-up comes days late and its subscription is deleted %s',
    async (_, isShort) => {
      world.wakeUps.schedule = () => Promise.resolve('scheduled');
      await world.deliver();
      const { next } = await world.delivery();
      await world.runFor(3 * DAY_MS);
      await world.subscriptions.markDeleted({ ...world.name, now: world.clock.now() });
      const sendDelayed = world.wakeUps.sendDelayed.bind(world.wakeUps);
      await sendDelayed(world.wakeUp(2, next?.dueAt), 0);
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
    await addSubscription(
      world.subscriptions,
      aSubscription({ id: 'limited', subscriber: 'https://limited.example', options: { max_per_second: 1 } }),
    );
    await world.publish();
    await world.runFor(5 * DAY_MS);

    expect(transitions()).toContain('await_slot');
    expect(others()).toEqual([]);
  });

  it('are forgotten a week later: the message, and its body after the longest schedule', async () => {
    await world.publish();
    const { acceptedAt, expiresAt } = await recordOfMessage();
    expect(expiresAt).toBe(acceptedAt + (15 + 7) * DAY_MS);
    await world.clock.run();
    const days = ((await recordOfMessage()).expiresAt - acceptedAt) / DAY_MS;
    // 15 days of the longest schedule, and four of the longest Retry-After.
    expect(days).toBeGreaterThan(15 + 19);
    expect(days).toBeLessThan(15 + 21);
  });

  it('are those of the deployment where it keeps less by now', async () => {
    await world.publish();
    world.settings.retentionMs = 10 * DAY_MS;
    await world.clock.run();
    expect(new Set(kept.map(([, days]) => days))).toEqual(new Set([10]));
  });

  it.each([30, 31, 14, 'x'])('store nothing where the queue says %j', async (_retention_days) => {
    await keepFor({ _retention_days });
    await world.deliver();
    expect(await world.delivery()).not.toHaveProperty('retentionDays', expect.any(Number));
    expect((await recordOfMessage()).expiresAt).toBeGreaterThan(world.clock.now() + 30 * DAY_MS);
  });

  it('are no longer repeated by a copy of the message when they may be gone', async () => {
    await world.publish();
    await world.runFor(14 * DAY_MS - 60_000);
    await world.publish();
    const late = () => world.facts('message_accepted').filter((fact) => fact.late);
    expect(late()).toEqual([]);
    await world.runFor(60_000);
    await world.publish();
    expect(late()).toHaveLength(1);
  });
});

describe('a body that expires', () => {
  const DAYS = 120;

  beforeEach(() => {
    withExpiringBodies(world);
  });

  /** A subscriber of a full line for as long: each delivery asks again a day later. */
  const fullLine = async (): Promise<void> => {
    const { rateLimits, clock } = world;
    const reserve = rateLimits.reserve.bind(rateLimits);
    rateLimits.reserve = (...args) =>
      clock.now() < world.startedAt + DAYS * DAY_MS
        ? Promise.resolve({ at: clock.now() + DAY_MS })
        : reserve(...args);
    await world.subscribe({}, { options: { max_per_second: 1 } });
  };

  it.each([
    ['small', 10, {}],
    ['of 9 KB', 9 * 1024, {}],
    ['of 70 KB', 70 * 1024, {}],
    ['of 70 KB, in a queue that keeps less', 70 * 1024, { _retention_days: 15 }],
  ])(
    'is kept again only when it would expire, while its delivery waits for long: a message %s',
    async (_what, bytes, metadata) => {
      const keepBody = vi.spyOn(world.messageRecords, 'keepBody');
      await fullLine();
      await keepFor(metadata);
      await world.dispatch({ ok: true, message: aMessage({ data: JSON.stringify('x'.repeat(bytes)) }) });
      await world.runFor((DAYS - 1) * DAY_MS);
      expect(await world.delivery()).toMatchObject({ status: 'pending', attempts: [] });
      expect(keepBody.mock.calls.length).toBeLessThan(9);
      await world.clock.run();

      expect(await world.delivery()).toMatchObject({ status: 'delivered', attempts: [{ number: 1 }] });
      expect(world.subscriber.seen).toHaveLength(1);
    },
  );

  it('is not kept again after it was erased, and its delivery is cancelled', async () => {
    await fullLine();
    await world.publish();
    await world.runFor(DAY_MS);
    await world.messageRecords.eraseBody(world.key, world.clock.now());
    await world.clock.run();

    expect(await world.delivery()).toMatchObject({ status: 'cancelled', reason: 'body_erased' });
  });

  it('is not kept where its id belongs to a later message by now, whose erasure would leave it', async () => {
    await world.subscribe();
    await world.subscriptions.disable('orders', 'subscription-1', {
      reason: 'manual',
      at: world.clock.now(),
    });
    await world.publish();
    const put = vi.spyOn(world.payloads, 'put');
    const message = aMessage({ data: JSON.stringify('x'.repeat(9 * 1024)) });
    const earlier = {
      ...world.job(),
      acceptedAt: world.startedAt - 1,
      body: { kind: 'inline', message } as const,
    };
    await world.receive(earlier, 'owner');

    expect(put).not.toHaveBeenCalled();
    expect(await world.delivery()).toMatchObject({ status: 'cancelled', acceptedAt: earlier.acceptedAt });
  });

  it('is kept once for a delivery within its policy', async () => {
    const keepBody = vi.spyOn(world.messageRecords, 'keepBody');
    world.settings.disableFailingAfterMs = 0;
    world.subscriber.script(world.url, [status(500)]);
    await world.subscribe({ maximum_delay_retries: 2, maximum_delay: 7 * 86_400 });
    await world.deliver();

    expect(await world.delivery()).toMatchObject({ status: 'exhausted' });
    expect(world.subscriber.seen).toHaveLength(3);
    expect(keepBody).toHaveBeenCalledOnce();
  });
});
