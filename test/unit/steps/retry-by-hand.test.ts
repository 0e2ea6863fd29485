import { beforeEach, describe, expect, it } from 'vitest';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { aBarePolicy, aMessage, aQueue } from '../../support/builders.ts';
import { type OneSubscriberWorld, subscribedWorld } from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

let world: OneSubscriberWorld;

const subscribed = async (policy: Parameters<typeof subscribedWorld>[0]): Promise<void> => {
  world = await subscribedWorld(policy);
};

beforeEach(() => subscribed({ minimum_delay_retries: 2, minimum_delay: 600, maximum_delay: 600 }));

const requests = (): number => world.subscriber.seen.length;
const retry = () => retryDelivery(world.byHandContext, world.key);

describe('a manual retry of an open delivery', () => {
  it('makes the pending attempt now, with its number and the phase manual', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    expect((await retry()).kind).toBe('retried');
    await world.clock.run(world.clock.now() + 1_000);

    expect(
      (await world.delivery()).attempts.map(({ number, round, phase }) => [number, round, phase]),
    ).toEqual([
      [1, 1, 'initial'],
      [2, 1, 'manual'],
    ]);
    expect((await world.delivery()).status).toBe('delivered');
  });

  it('removes the schedule of the pending attempt', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    expect(world.schedules).toHaveLength(1);
    await retry();

    expect(world.schedules).toEqual([]);
  });

  it('uses the place of that attempt in the policy, and the next delay starts from it', async () => {
    world.subscriber.script(world.url, [status(500), status(500), status(500)]);
    await world.publish(1_000);
    await retry();
    await world.clock.run();

    const delivery = await world.delivery();
    expect(delivery.status).toBe('exhausted');
    expect(delivery.attempts.map(({ phase }) => phase)).toEqual(['initial', 'manual', 'pre_backoff']);
    const [, second, third] = delivery.attempts;
    expect((third?.startedAt ?? 0) - (second?.startedAt ?? 0)).toBeGreaterThanOrEqual(600_000);
  });

  it('makes the attempt once in fifty races with the automatic retry', async () => {
    world.subscriber.script(world.url, [status(500), status(200, { takesMs: 500 })]);
    await world.publish(1_000);
    const { next } = await world.delivery();
    await world.clock.run(next?.dueAt);
    const wakeUp = world.wakeUp(2, next?.dueAt);
    const race = Array.from({ length: 50 }, (_, index) => [
      retry(),
      world.receive(wakeUp, `automatic-${index}`),
    ]);
    await world.clock.run();
    await Promise.all(race.flat());

    expect(requests()).toBe(2);
    expect((await world.delivery()).attempts).toHaveLength(2);
  });

  it('is refused while an attempt is in flight', async () => {
    world.subscriber.script(world.url, [status(500), status(200, { takesMs: 5_000 })]);
    await world.publish(1_000);
    await retry();
    await world.clock.run(world.clock.now() + 1_000);

    expect(await retry()).toMatchObject({ kind: 'refused', why: 'in_flight' });
  });

  it('takes over after a crash and counts the request as lost', async () => {
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish(1_000);
    const now = world.clock.now();
    await world.deliveries.write({
      name: 'claim',
      key: world.key,
      expect: { kind: 'present' },
      change: { lease: { owner: 'dead', until: now - 1 }, updatedAt: now, expiresAt: now },
    });
    expect((await retry()).kind).toBe('retried');
    await world.clock.run();

    expect((await world.delivery()).attempts.at(-1)).toMatchObject({ number: 2, lost: 1 });
  });

  it('is refused for a disabled subscription', async () => {
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);
    await world.subscriptions.disable('orders', 'subscription-1', { reason: 'manual', at: 0 });

    expect(await retry()).toMatchObject({ kind: 'refused', why: 'subscription_absent' });
  });
});

describe('a manual retry of an ended delivery', () => {
  const exhausted = async (): Promise<void> => {
    await subscribed({});
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);
    expect((await world.delivery()).status).toBe('exhausted');
  };

  it('opens another round: numbers continue, policy and budget start over', async () => {
    await exhausted();
    await world.subscriptions.putQueue(
      aQueue({
        retryPolicy: {
          ...aBarePolicy({ retries_with_no_delay: 2 }),
          ignore_subscription_override: true,
        },
      }),
    );
    world.subscriber.script(world.url, [status(500), status(500), status(500)]);
    await retry();
    await world.clock.run();

    const { attempts, round, status: end } = await world.delivery();
    expect({ round, end }).toEqual({ round: 2, end: 'exhausted' });
    expect(attempts.map((attempt) => [attempt.number, attempt.round, attempt.phase])).toEqual([
      [1, 1, 'initial'],
      [2, 2, 'manual'],
      [3, 2, 'immediate'],
      [4, 2, 'immediate'],
    ]);
    expect(world.undeliverables.sent).toHaveLength(2);
  });

  it('is found by reconcile if its wake-up was not sent', async () => {
    await exhausted();
    world.subscriber.script(world.url, [status(200)]);
    const lost = { ...world.wakeUps, sendDelayed: () => Promise.reject(new Error('SQS is unavailable')) };
    const { ports, settings } = world.byHandContext;
    await expect(retryDelivery({ ports: { ...ports, wakeUps: lost }, settings }, world.key)).rejects.toThrow(
      'unavailable',
    );
    await world.clock.run(world.clock.now() + 60_000);
    await world.reconcile();
    await world.clock.run();

    expect((await world.delivery()).status).toBe('delivered');
  });

  it('is refused if the body was not kept', async () => {
    await world.publish(1_000);
    expect((await world.delivery()).status).toBe('delivered');

    expect(await retry()).toMatchObject({ kind: 'refused', why: 'body_gone' });
    expect(requests()).toBe(1);
  });

  it('sends a delivered message again if all bodies are kept', async () => {
    world.settings.retainMessages = 'all';
    await world.publish(1_000);
    await retry();
    await world.clock.run();

    expect(requests()).toBe(2);
    expect(await world.delivery()).toMatchObject({ status: 'delivered', round: 2 });
  });

  it('is refused after the ttl of its message', async () => {
    await subscribed({});
    world.subscriber.script(world.url, [status(500)]);
    const message = aMessage({ expiresAt: world.clock.now() + 5_000 });
    await world.dispatch({ ok: true, message });
    await world.clock.run(world.clock.now() + 6_000);

    expect(await retry()).toMatchObject({ kind: 'refused', why: 'message_expired' });
  });

  it('is refused if the record has no room for another round', async () => {
    await subscribed({ retries_with_no_delay: 100 });
    world.subscriber.script(world.url, [status(500)]);
    await world.publish(1_000);
    for (let round = 2; round <= 4; round += 1) {
      await retry();
      await world.clock.run(world.clock.now() + 600_000);
    }

    expect((await world.delivery()).attempts).toHaveLength(404);
    expect(await retry()).toMatchObject({ kind: 'refused', why: 'too_many_attempts' });
  });

  it('is refused while the delivery has pending steps', async () => {
    await exhausted();
    const now = world.clock.now();
    await world.deliveries.write({
      name: 'settle',
      key: world.key,
      expect: { kind: 'present' },
      change: { pendingSteps: [{ kind: 'undeliverable' }], updatedAt: now, expiresAt: now },
    });

    expect(await retry()).toMatchObject({ kind: 'refused', why: 'being_closed' });
  });
});
