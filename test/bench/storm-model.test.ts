import { describe, expect, it } from 'vitest';
import { mostWithin } from '../../bench/storm/figures.ts';
import { fedQueue } from '../../bench/storm/virtual/fed-queue.ts';
import { EndlessStormError, heapClock } from '../../bench/storm/virtual/heap-clock.ts';
import { quotaOf } from '../../bench/storm/virtual/quota.ts';
import { repeating } from '../../bench/storm/virtual/repeats.ts';
import { simulatedScheduler } from '../../bench/storm/virtual/simulated-scheduler.ts';
import { schedulerWakeUps } from '../../shared/adapters/scheduler/wake-ups.ts';
import type { WakeUp } from '../../shared/domain/delivery/job.ts';
import { seededChance } from '../simulation/chance.ts';
import { virtualClock } from '../support/in-memory/virtual-clock.ts';

const START = Date.UTC(2026, 0, 1);

const fresh = () => {
  const time = virtualClock(START);
  return { time, clock: heapClock(time), chance: seededChance(1) };
};

describe('a quota', () => {
  it('lets so many pass in any second, and those it refused do not count', () => {
    const quota = quotaOf(2);
    const times = [0, 0, 500, 999, 1_000, 1_001, 1_001, 2_001];
    expect(times.map(quota.admits)).toEqual([true, true, false, false, true, true, false, true]);
  });
});

describe('a client whose requests are throttled', () => {
  const refusing = () => {
    const asked: number[] = [];
    const { time, clock, chance } = fresh();
    const request = (): void => {
      asked.push(time.now() - START);
      throw new Error('throttled');
    };
    return { asked, clock, repeated: repeating(clock, chance), request };
  };

  it('asks twice more, a second later at most and then two, and passes on what it was told', async () => {
    const { asked, clock, repeated, request } = refusing();
    const result = expect(repeated(request)).rejects.toThrow('throttled');
    await clock.run();
    await result;
    expect(asked).toHaveLength(3);
    const [, second = NaN, third = NaN] = asked;
    expect(second).toBeLessThan(1_000);
    expect(third - second).toBeLessThan(2_000);
  });

  it('stops repeating when it has spent what it had for that', async () => {
    const { asked, clock, repeated, request } = refusing();
    const results = Promise.allSettled(Array.from({ length: 60 }, () => repeated(request)));
    await clock.run();
    await results;
    expect(asked).toHaveLength(60 + 500 / 5);
  });
});

describe('a queue with its mapping', () => {
  const HOLD_MS = 100;

  /** Of messages that take so long each: when invocations began, and how many of them were under way at the most. */
  const fed = async (
    messages: number,
    concurrency: number,
    fail: (value: number) => boolean = () => false,
  ) => {
    const { time, clock } = fresh();
    const received: { value: number; receiveCount: number; at: number }[] = [];
    const batches: number[] = [];
    let [busy, most] = [0, 0];
    const environments = new Set<number>();
    const queue = fedQueue<number>({
      name: 'fed',
      time,
      concurrency,
      start: (environment) => {
        expect(environments.has(environment)).toBe(false);
        environments.add(environment);
        busy += 1;
        most = Math.max(most, busy);
        batches.push(time.now() - START);
        return async ({ value, receiveCount }) => {
          received.push({ value, receiveCount, at: time.now() - START });
          await clock.sleep(HOLD_MS);
          if (environments.delete(environment)) busy -= 1;
          if (fail(value)) throw new Error('failed');
        };
      },
    });
    for (let value = 0; value < messages; value += 1) queue.send(value);
    await clock.run();
    return { queue, received, batches, most };
  };

  it('hands each message to one environment once, ten at a time', async () => {
    const { queue, received } = await fed(95, 5);
    expect(new Set(received.map(({ value }) => value)).size).toBe(95);
    expect(queue.invocations.map(({ records }) => records)).toEqual([...Array<number>(9).fill(10), 5]);
    expect(queue.invocations.every(({ startedAt, endedAt }) => endedAt - startedAt === HOLD_MS)).toBe(true);
  });

  it('begins with five environments, adds one every fifth of a second, and never has more than it may', async () => {
    const { batches, most } = await fed(2_000, 8);
    expect(batches.filter((at) => at === 0)).toHaveLength(5);
    expect(most).toBe(8);
    const early = await fed(400, 1_000);
    expect(early.most).toBeLessThan(12);
  });

  it('brings back what failed when it becomes visible again, and gives it up after ten times', async () => {
    const { queue, received } = await fed(3, 5, (value) => value === 1);
    expect(received.filter(({ value }) => value !== 1)).toHaveLength(2);
    const failed = received.filter(({ value }) => value === 1);
    expect(failed.map(({ receiveCount }) => receiveCount)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(failed[1]?.at).toBe(180_000 + HOLD_MS);
    expect(queue.deadLetters).toBe(1);
  });

  it('keeps a message back for as long as it is told', async () => {
    const { time, clock } = fresh();
    const came: number[] = [];
    const note = () => {
      came.push(time.now() - START);
      return Promise.resolve();
    };
    const queue = fedQueue<number>({ name: 'fed', time, concurrency: 2, start: () => note });
    queue.send(1, 7);
    await clock.run();
    expect(came).toEqual([7_000]);
  });
});

const wakeUp: WakeUp = {
  kind: 'wake_up',
  key: { queue: 'orders', messageId: 'm', subscriptionId: 's', bucket: 0 },
  attempt: 2,
  dueAt: START + 600_000,
};

const settings = { group: 'g', roleArn: 'r', retryQueueArn: 'q', deadLetterArn: 'd' };

describe('the scheduler of the model', () => {
  it('refuses what is over the quota, and fires the rest within the minute, no faster than it may', async () => {
    const { time, clock, chance } = fresh();
    const fired: { value: WakeUp; at: number }[] = [];
    const scheduler = simulatedScheduler({
      time,
      clock,
      chance,
      quotas: { createPerSecond: 20, invokePerSecond: 2 },
      fire: (value) => fired.push({ value, at: time.now() - START }),
    });
    const { schedule } = schedulerWakeUps(scheduler.client(), settings);
    const asked = Array.from({ length: 100 }, (_, index) => schedule(`n${index}`, START + 500_000, wakeUp));
    await clock.run();
    const results = await Promise.all(asked);
    const made = results.filter((result) => result === 'scheduled').length;
    expect(made).toBeGreaterThan(20);
    expect(made).toBeLessThan(100);
    expect(scheduler.granted).toHaveLength(made);
    expect(mostWithin(scheduler.granted, 1_000)).toBe(20);
    expect(fired).toHaveLength(made);
    expect(fired[0]?.value).toEqual(wakeUp);
    expect(Math.min(...fired.map(({ at }) => at))).toBeGreaterThanOrEqual(500_000);
    expect(mostWithin(scheduler.invoked, 1_000)).toBeLessThanOrEqual(2);
  });
});

describe('the clock of the model', () => {
  it('says so when something still happens after its limit', async () => {
    const { clock } = fresh();
    clock.at(START + 10, () => undefined);
    await expect(clock.run(START + 9)).rejects.toThrow(EndlessStormError);
  });
});
