import { describe, expect, it } from 'vitest';
import { memoryBudget } from '../../../functions/deliver/memory-budget.ts';
import { chunkedWorld, type ChunkedWorld } from '../../support/in-memory/chunked-world.ts';
import { status } from '../../support/in-memory/scripted-subscriber.ts';
import { virtualClock } from '../../support/in-memory/virtual-clock.ts';

describe('the memory of an instance', () => {
  /** Takes so much of 10 for two seconds, and notes when it got it. */
  const takers = () => {
    const clock = virtualClock(0);
    const memory = memoryBudget(clock, 10);
    const seen: string[] = [];
    const take = async (name: string, megabytes: number, waitMs = 60_000): Promise<void> => {
      const giveBack = await memory.take(megabytes, waitMs);
      seen.push(`${name} ${giveBack === undefined ? 'gave up' : 'began'} at ${clock.now()}`);
      await clock.sleep(2_000);
      giveBack?.();
    };
    return { clock, seen, take };
  };

  it('is had at once while there is enough, and then in turn', async () => {
    const { clock, seen, take } = takers();
    void take('a', 6);
    void take('b', 4);
    void take('c', 8);
    void take('d', 1);
    await clock.run();
    expect(seen).toEqual(['a began at 0', 'b began at 0', 'c began at 2000', 'd began at 2000']);
  });

  it('is waited for no longer than the invocation has time, which lets those behind go first', async () => {
    const { clock, seen, take } = takers();
    void take('a', 9);
    void take('b', 9, 1_000);
    void take('c', 1);
    await clock.run();
    expect(seen).toEqual(['a began at 0', 'b gave up at 1000', 'c began at 1000']);
  });

  it('is had by one that needs more than there is, alone', async () => {
    const { clock, seen, take } = takers();
    void take('a', 1);
    void take('b', 11);
    void take('c', 1);
    await clock.run();
    expect(seen).toEqual(['a began at 0', 'b began at 2000', 'c began at 4000']);
  });
});

describe('more large messages than the memory of an instance has room for', () => {
  const CHUNKS = 12;

  /** Twelve at once, to ten subscribers each that take so long. */
  const published = async (takesMs: number, bytes = 70_000): Promise<ChunkedWorld> => {
    const world = await chunkedWorld(10);
    for (const id of world.ids) world.subscriber.script(world.urlOf(id), [status(200, { takesMs })]);
    for (let index = 1; index <= CHUNKS; index += 1)
      await world.publish({ id: `message-${index}`, data: JSON.stringify('x'.repeat(bytes)) });
    await world.until(1_000);
    return world;
  };

  const inTheEnd = async (world: ChunkedWorld): Promise<void> => {
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
    await inTheEnd(world);
  });

  it('are given back where the invocation has no time for that, and count as no failed receive', async () => {
    const world = await published(14_000);
    const given = () => world.journal.facts.filter(({ fact }) => fact === 'time_given_back');
    await world.until(8_000);
    expect(world.requests()).toEqual(world.ids.map(() => 10));
    expect(given()).toHaveLength(2 * 10);
    await inTheEnd(world);
  });

  it('hold up no small ones', async () => {
    const world = await published(14_000, 100);
    expect(world.requests()).toEqual(world.ids.map(() => CHUNKS));
    await inTheEnd(world);
  });
});
