import { beforeEach, describe, expect, it } from 'vitest';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import { listWaits } from '../../../shared/domain/delivery/waits.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { deliverySummary, deliveryView } from '../../../shared/wire/views/shown-delivery.ts';
import { aBarePolicy, aMessage } from '../../support/builders.ts';
import {
  numbered,
  oneSubscriberWorld,
  type OneSubscriberWorld,
} from '../../support/in-memory/one-subscriber-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';

const SECOND = 1_000;
let world: OneSubscriberWorld;

beforeEach(() => {
  world = oneSubscriberWorld();
});

/** What each attempt waited for, in milliseconds: `{ rate_limited: 21000 }`. */
const waitsOf = async (messageId: string): Promise<Record<string, number>[]> => {
  const { attempts, acceptedAt } = await world.deliveryOf(messageId);
  return attempts.map((attempt) => byReason(attempt, acceptedAt));
};

const byReason = (attempt: Attempt, acceptedAt: number): Record<string, number> => {
  const total: Record<string, number> = {};
  for (const { reason, ms } of listWaits(attempt, acceptedAt)) total[reason] = (total[reason] ?? 0) + ms;
  return total;
};

const limitTo = (max_per_second: number, policy = {}): Promise<void> =>
  world.subscribe(policy, { options: { max_per_second } });

const until = (seconds: number): Promise<void> => world.clock.run(world.startedAt + SECOND * seconds);

it.each([
  ['alone', 1],
  ['in a chunk', 10],
])('a delay of the message is no wait of a delivery that is made %s', async (_, perJob) => {
  world.settings.firstAttemptsPerJob = perJob;
  const ids = ['s-1', 's-2'];
  for (const id of ids) await world.subscribe({}, { id, subscriber: `https://${id}.test/` });
  await world.dispatch({ ok: true, message: aMessage(), delaySeconds: 60 }, '{}');
  await world.clock.run();

  for (const id of ids) {
    const { key, attempts, acceptedAt } = await world.delivery(id);
    expect(key.chunk).toBe(perJob === 1 ? undefined : 0);
    expect(attempts.map(({ startedAt }) => startedAt - acceptedAt)).toEqual([60 * SECOND]);
    expect(attempts.map((attempt) => byReason(attempt, acceptedAt))).toEqual([{}]);
  }
});

describe('a delivery that had to wait', () => {
  it('says afterwards for how long it waited for the rate limit', async () => {
    await limitTo(0.1);
    await world.publish(...numbered(3));
    await world.clock.run();

    expect(await waitsOf('m-2')).toEqual([{ rate_limited: 21 * SECOND }]);
    expect(deliverySummary(await world.deliveryOf('m-2'))).toMatchObject({
      waited: [{ reason: 'rate_limited', ms: 21 * SECOND }],
    });
  });

  it('says while it waits since when', async () => {
    await limitTo(0.1);
    await world.publish(...numbered(3));
    await until(5);

    const since = new Date(world.startedAt).toISOString();
    const waiting = await world.deliveryOf('m-2');
    expect(deliveryView(waiting).nextAttempt).toMatchObject({ waiting: 'rate_limited', waitingSince: since });
    expect(deliverySummary(waiting)).toMatchObject({ waiting: 'rate_limited', waitingSince: since });
  });

  it('adds up what it waited for and was late, from its acceptance to its attempt', async () => {
    await limitTo(2);
    const lags = [0, 6, 2, 9, 4];
    const send = world.wakeUps.sendDelayed.bind(world.wakeUps);
    let sent = 0;
    world.wakeUps.sendDelayed = (wakeUp, delaySeconds) => {
      sent += 1;
      return send(wakeUp, delaySeconds + (lags[sent % lags.length] ?? 0));
    };
    await world.publish(...numbered(40));
    await world.clock.run();

    const totals: Record<string, number> = {};
    for (const id of numbered(40).slice(3)) {
      const [attempt] = (await world.deliveryOf(id)).attempts;
      const [waits = {}] = await waitsOf(id);
      const sum = Object.values(waits).reduce((one, other) => one + other, 0);
      expect(sum).toBe((attempt?.startedAt ?? 0) - world.startedAt);
      for (const [reason, ms] of Object.entries(waits)) totals[reason] = (totals[reason] ?? 0) + ms;
    }
    expect(Object.keys(totals).toSorted()).toEqual(['lag', 'rate_limited']);
    expect(totals['lag']).toBeGreaterThan(5 * SECOND);
  });

  it('counts the wait of a retry from when it was due, although it joined the line before', async () => {
    await limitTo(0.1, { minimum_delay_retries: 1, minimum_delay: 5 });
    world.subscriber.script(world.url, [status(200), status(500), status(200)]);
    await world.publish(...numbered(4));
    await world.clock.run();

    const { attempts } = await world.deliveryOf('m-1');
    const [first, retry] = attempts;
    const dueAt = (first?.startedAt ?? 0) + (first?.durationMs ?? 0) + 5 * SECOND;
    expect(retry?.startedAt).toBeGreaterThan(dueAt + 5 * SECOND);
    expect((await waitsOf('m-1'))[1]).toEqual({ rate_limited: (retry?.startedAt ?? 0) - dueAt });
  });

  it('names the reason: it was held while the subscriber was down', async () => {
    Object.assign(world.settings, { adaptToThrottling: true, holdWhileDown: true });
    await world.subscribe({ minimum_delay_retries: 40, minimum_delay: 5 });
    world.subscriber.script(world.url, [status(503, { takesMs: 20 })]);
    for (let second = 0; second < 20; second += 1) {
      await world.publish(...numbered(4, { name: `down-${second}` }));
      await world.runFor(SECOND);
    }
    const heldAt = world.clock.now();
    await world.publish('held');
    await world.runFor(8 * 60 * SECOND);
    world.subscriber.script(world.url, [status(200)]);
    await world.clock.run();

    const [attempt] = (await world.deliveryOf('held')).attempts;
    const waitedMs = (attempt?.startedAt ?? 0) - heldAt;
    expect(waitedMs).toBeGreaterThan(8 * 60 * SECOND);
    expect(await waitsOf('held')).toEqual([{ circuit_open: waitedMs }]);
  });

  it('does not wait any more once an operator sent it', async () => {
    await limitTo(0.01);
    await world.publish(...numbered(3));
    await until(40);
    await world.update({ options: { _retry_policy: aBarePolicy() } });
    await retryDelivery(world.byHandContext, (await world.deliveryOf('m-2')).key);
    await world.clock.run();

    expect(await waitsOf('m-2')).toEqual([{ rate_limited: 40 * SECOND }]);
  });

  it('waits less once the limit is raised', async () => {
    await limitTo(0.01);
    await world.publish(...numbered(3));
    await until(40);
    await world.update({ options: { max_per_second: 1, _retry_policy: aBarePolicy() } });
    await world.clock.run();

    const [attempt] = (await world.deliveryOf('m-2')).attempts;
    const [waits] = await waitsOf('m-2');
    expect(waits).toEqual({ rate_limited: (attempt?.startedAt ?? 0) - world.startedAt });
    expect(waits?.['rate_limited']).toBeLessThan(60 * SECOND);
  });
});

describe('a delivery that did not wait', () => {
  it('has nothing on record about waits', async () => {
    await world.subscribe({ minimum_delay_retries: 1, minimum_delay: 5 });
    world.subscriber.script(world.url, [status(500), status(200)]);
    await world.publish();
    await until(1);
    expect((await world.delivery()).next).not.toHaveProperty('waitingSince');
    await world.clock.run();

    for (const attempt of (await world.delivery()).attempts) expect(attempt).not.toHaveProperty('waited');
    expect(await waitsOf('message-1')).toEqual([{}, {}]);
  });
});
