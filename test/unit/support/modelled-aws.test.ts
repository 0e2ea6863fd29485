import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../support/in-memory/virtual-clock.ts';
import { modelledScheduler } from '../../support/modelled-scheduler.ts';
import { modelledSqs, sideBySide } from '../../support/modelled-sqs.ts';

const SECOND = 1_000;
const VISIBILITY_MS = 180 * SECOND;

describe('the modelled queue', () => {
  it('receives an undeleted message after each visibility timeout, and dead-letters it after fifty receives', async () => {
    const clock = virtualClock(0);
    const receives: number[] = [];
    let crashes = true;
    const queue = modelledSqs<string>({
      name: 'm',
      timeline: clock,
      visibilityMs: () => VISIBILITY_MS,
      consume: async (batch) => {
        for (const { receiveCount } of batch) receives.push(clock.now() / SECOND, receiveCount);
        await clock.sleep(20 * SECOND);
        if (!crashes) for (const { acknowledge } of batch) acknowledge();
      },
    });
    queue.send('a', 5);
    await clock.run();
    expect(receives).toEqual(Array.from({ length: 50 }, (_, index) => [5 + 180 * index, index + 1]).flat());
    expect([queue.waiting, queue.deadLetters]).toEqual([0, 1]);

    crashes = false;
    receives.length = 0;
    const redrivenAt = clock.now() / SECOND;
    queue.redrive();
    await clock.run();
    expect(receives).toEqual([redrivenAt, 1]);
    expect([queue.waiting, queue.deadLetters]).toEqual([0, 0]);
  });

  it('redelivers a failed message after a growing delay, and once after a time without deliveries', async () => {
    const clock = virtualClock(0);
    const receives: number[] = [];
    const queue = modelledSqs<string>({
      name: 'm',
      timeline: clock,
      visibilityMs: () => VISIBILITY_MS,
      consume: sideBySide(({ receiveCount }) => {
        receives.push(clock.now() / SECOND, receiveCount);
        return receiveCount < 4 ? Promise.reject(new Error('It failed.')) : Promise.resolve();
      }),
      faults: {
        jitter: () => 0,
        closedUntil: (now) => (now > 2 * SECOND && now < 400 * SECOND ? 400 * SECOND : undefined),
      },
    });
    queue.send('a');
    await clock.run();
    expect(receives).toEqual([0, 1, 1, 2, 400, 3, 404, 4]);
    expect(queue.waiting).toBe(0);
  });

  it('counts the receives of a message that is received twice at once, and deletes it for both', async () => {
    const clock = virtualClock(0);
    const receives: number[] = [];
    const queue = modelledSqs<string>({
      name: 'm',
      timeline: clock,
      visibilityMs: () => VISIBILITY_MS,
      consume: async (batch) => {
        receives.push(...batch.map(({ receiveCount }) => receiveCount));
        await clock.sleep(SECOND);
        batch[0]?.acknowledge();
      },
      faults: {
        closedUntil: (now) => (now < 2 * SECOND ? 2 * SECOND : undefined),
        copiesOf: (label) => [{ label, laterMs: 0 }],
        seenAgainAfterMs: (receipt) => (receipt === 'a#1' ? 0 : undefined),
      },
    });
    queue.send('a', 0, 'a');
    await clock.run();
    expect(receives).toEqual([1, 2]);
    expect(queue.waiting).toBe(0);
  });

  it('begins with the first concurrency, and grows by five batches a second while messages wait', async () => {
    const clock = virtualClock(0);
    const started: number[] = [];
    const busy = new Set<number>();
    const queue = modelledSqs<number>({
      name: 'm',
      timeline: clock,
      visibilityMs: () => VISIBILITY_MS,
      scaling: { first: 5, most: 8 },
      consume: async (batch, environment) => {
        expect([batch.length, busy.has(environment)]).toEqual([10, false]);
        busy.add(environment);
        started.push(clock.now());
        await clock.sleep(10 * SECOND);
        for (const { acknowledge } of batch) acknowledge();
        busy.delete(environment);
      },
    });
    for (let message = 0; message < 100; message += 1) queue.send(message);
    await clock.run();
    expect(started).toEqual([0, 0, 0, 0, 0, 200, 400, 600, 10_000, 10_000]);
    expect(queue.waiting).toBe(0);
  });
});

describe('the modelled Scheduler', () => {
  const fired: [string, number][] = [];
  const scheduler = (
    clock: ReturnType<typeof virtualClock>,
    quotas?: Parameters<typeof modelledScheduler>[0]['quotas'],
  ) =>
    modelledScheduler<string>({
      timeline: clock,
      lateMs: () => SECOND,
      fire: (input) => fired.push([input, clock.now()]),
      ...(quotas === undefined ? {} : { quotas }),
    });

  it('fires a schedule once, refuses its name until then, and does not fire one that was deleted', async () => {
    const clock = virtualClock(0);
    const { create, find, delete: remove } = scheduler(clock);
    fired.length = 0;
    expect([create('a', 10, 'first'), create('a', 20, 'second'), find('a')]).toEqual([
      'created',
      'conflict',
      'first',
    ]);
    expect([create('b', 10, 'deleted'), remove('b'), remove('b')]).toEqual(['created', 'removed', 'absent']);
    await clock.run();
    expect(fired).toEqual([['first', 1_010]]);
    expect(create('a', 0, 'third')).toBe('created');
  });

  it('throttles creations over the quota of a second, and delays invocations over theirs', async () => {
    const clock = virtualClock(0);
    const { create } = scheduler(clock, { createPerSecond: 2, invokePerSecond: 4 });
    fired.length = 0;
    expect(['a', 'b', 'c'].map((name) => create(name, 5_000, name))).toEqual([
      'created',
      'created',
      'throttled',
    ]);
    await clock.run(1_000);
    expect(create('c', 5_000, 'c')).toBe('created');
    await clock.run();
    expect(fired).toEqual([
      ['a', 6_000],
      ['b', 6_250],
      ['c', 6_500],
    ]);
  });
});
