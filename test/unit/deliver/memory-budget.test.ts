import { describe, expect, it } from 'vitest';
import { largeMessageMegabytes, memoryBudget } from '../../../functions/deliver/memory-budget.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { virtualClock } from '../../support/in-memory/virtual-clock.ts';

describe('the memory budget of a function instance', () => {
  /** Takes memory from a budget of 10 for two seconds each, in this order. Returns when each got it. */
  const taken = async (...users: readonly [name: string, megabytes: number, waitMs?: number][]) => {
    const clock = virtualClock(0);
    const memory = memoryBudget(clock, 10);
    const seen: string[] = [];
    const take = async (name: string, megabytes: number, waitMs = 60_000): Promise<void> => {
      const release = await memory.take(megabytes, waitMs);
      seen.push(`${name} ${release === undefined ? 'gave up' : 'began'} at ${clock.now()}`);
      await clock.sleep(2_000);
      release?.();
    };
    for (const user of users) void take(...user);
    await clock.run();
    return seen;
  };

  it('is granted at once while there is enough, then first come, first served', async () => {
    const seen = await taken(['a', 6], ['b', 4], ['c', 8], ['d', 1]);
    expect(seen).toEqual(['a began at 0', 'b began at 0', 'c began at 2000', 'd began at 2000']);
  });

  it('is refused when the wait is over, and the next waiter goes first', async () => {
    const seen = await taken(['a', 9], ['b', 9, 1_000], ['c', 1]);
    expect(seen).toEqual(['a began at 0', 'b gave up at 1000', 'c began at 1000']);
  });

  it('is granted to a request above the whole budget when it is alone', async () => {
    const seen = await taken(['a', 1], ['b', 11], ['c', 1]);
    expect(seen).toEqual(['a began at 0', 'b began at 2000', 'c began at 4000']);
  });
});

it.each([
  ['128 MB', 128, 0],
  ['256 MB', 256, 3],
  ['512 MB', 512, 10],
  ['1,024 MB', 1_024, 22],
])(
  'a function instance of %s has room for so many large messages to ten subscribers',
  (_, memory, chunks) => {
    expect(Math.floor(largeMessageMegabytes(memory) / 24)).toBe(chunks);
  },
);

it('a worker has the room of a function of the usual size', () => {
  expect(largeMessageMegabytes(undefined)).toBe(largeMessageMegabytes(512));
});

describe('large messages beyond the memory budget of a function instance', () => {
  const CHUNKS = 12;

  /** Publishes twelve messages at once, each to ten subscribers that answer after `takesMs`. */
  const published = async (takesMs: number, bytes = 70_000): Promise<ChunkedWorld> => {
    const world = await chunkedWorld(10);
    world.answerAll(takesMs);
    for (let index = 1; index <= CHUNKS; index += 1)
      await world.publish({ id: `message-${index}`, data: JSON.stringify('x'.repeat(bytes)) });
    await world.until(1_000);
    return world;
  };

  const expectAllDelivered = async (world: ChunkedWorld): Promise<void> => {
    await world.clock.run();
    expect(world.requests()).toEqual(world.ids.map(() => CHUNKS));
    expect(world.separateMembers()).toEqual([]);
    expect(world.deliveryJobs.deadLetters).toBe(0);
  };

  it('wait for each other in the invocation', async () => {
    const world = await published(3_000);
    expect(world.requests()).toEqual(world.ids.map(() => 10));
    await world.until(4_000);
    expect(world.requests()).toEqual(world.ids.map(() => CHUNKS));
    await expectAllDelivered(world);
  });

  it('return to the queue if the invocation has no time, without a failed receive', async () => {
    const world = await published(14_000);
    await world.until(8_000);
    expect(world.requests()).toEqual(world.ids.map(() => 10));
    expect(world.facts('sent_again')).toHaveLength(2 * 10);
    await expectAllDelivered(world);
  });

  it('do not delay small ones', async () => {
    const world = await published(14_000, 100);
    expect(world.requests()).toEqual(world.ids.map(() => CHUNKS));
    await expectAllDelivered(world);
  });
});
