import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { combineCalls } from '../../../shared/adapters/combine-calls.ts';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';
import { estimateHeapBytes, readCache } from '../../../shared/adapters/read-cache.ts';
import { turnsUntil } from '../../support/eventually.ts';

const aCache = ({ maxAgeMs = 5000, maxWeight = 100 } = {}) => {
  const time = { now: 1_000_000 };
  const clock = { now: () => time.now };
  return {
    time,
    cache: readCache<string>({ clock, maxAgeMs, maxWeight, weightOf: (value) => value.length }),
  };
};

/** A read that settles when the test decides. */
const aRead = () => {
  const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
  let started = 0;
  const read = () => {
    started += 1;
    return promise;
  };
  return { read, resolve, reject, timesStarted: () => started };
};

const begun = ({ timesStarted }: ReturnType<typeof aRead>): Promise<void> =>
  turnsUntil(() => timesStarted() > 0);

const reading = (value: string | undefined) => () => Promise.resolve(value);

describe('a cache of reads', () => {
  it('keeps a value for the maximum age, counted from the start of the read', async () => {
    const { cache, time } = aCache();
    const slow = aRead();
    const first = cache.cached('a', slow.read);
    time.now += 4000;
    slow.resolve('old');
    await first;
    time.now += 999;
    expect(await cache.cached('a', reading('new'))).toBe('old');
    time.now += 1;
    expect(await cache.cached('a', reading('new'))).toBe('new');
  });

  it('keeps nothing if the maximum age is 0', async () => {
    const { cache } = aCache({ maxAgeMs: 0 });
    await cache.cached('a', reading('old'));
    expect(await cache.cached('a', reading('new'))).toBe('new');
  });

  it('keeps values of different names separately', async () => {
    const { cache } = aCache();
    await cache.cached('a', reading('of a'));
    expect(await cache.cached('b', reading('of b'))).toBe('of b');
    expect(await cache.cached('a', reading('other'))).toBe('of a');
  });

  it.each([
    ['a missing value', undefined],
    ['a value of weight 0', ''],
  ])('never keeps %s, and drops the previous value', async (_, nothing) => {
    const { cache } = aCache();
    await cache.cached('a', reading('old'));
    expect(await cache.fresh('a', reading(nothing))).toBe(nothing);
    expect(await cache.cached('a', reading('new'))).toBe('new');
  });

  it('evicts the oldest entry when it exceeds its weight', async () => {
    const { cache, time } = aCache({ maxWeight: 6 });
    for (const name of ['a', 'b', 'c']) {
      time.now += 1;
      await cache.cached(name, reading('xx'));
    }
    time.now += 1;
    await cache.fresh('a', reading('yy'));
    await cache.cached('d', reading('xx'));
    expect(await cache.cached('d', reading('zz'))).toBe('xx');
    expect(await cache.cached('a', reading('zz'))).toBe('yy');
    expect(await cache.cached('b', reading('zz'))).toBe('zz');
  });

  it('does not evict others for a value that exceeds the limit alone', async () => {
    const { cache } = aCache({ maxWeight: 6 });
    await cache.cached('b', reading('light'));
    await cache.cached('a', reading('far too heavy'));
    expect(await cache.cached('a', reading(''))).toBe('');
    expect(await cache.cached('b', reading('new'))).toBe('light');
  });

  it.each(['cached', 'fresh'] as const)(
    'shares a %s read and its failure between concurrent callers, but not with later ones',
    async (way) => {
      const { cache } = aCache();
      const failing = aRead();
      const asked = Promise.allSettled([cache[way]('a', failing.read), cache[way]('a', failing.read)]);
      failing.reject(new Error('throttled'));
      expect((await asked).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
      expect(failing.timesStarted()).toBe(1);
      expect(await cache[way]('a', reading('new'))).toBe('new');
    },
  );

  it('does not use an earlier read for a fresh one', async () => {
    const { cache } = aCache();
    const slow = aRead();
    const cached = cache.cached('a', slow.read);
    expect(await cache.fresh('a', reading('new'))).toBe('new');
    slow.resolve('old');
    expect(await cached).toBe('old');
  });

  it('shares a fresh read between callers that ask before it starts, and starts another for later ones', async () => {
    const { cache } = aCache();
    const [first, second] = [aRead(), aRead()];
    const together = ['a', 'a', 'b'].map((name) => cache.fresh(name, first.read));
    await begun(first);
    const later = cache.fresh('a', second.read);
    second.resolve('new');
    expect(await later).toBe('new');
    first.resolve('old');
    expect(await Promise.all(together)).toEqual(['old', 'old', 'old']);
    expect([first.timesStarted(), second.timesStarted()]).toEqual([2, 1]);
  });

  it('does not replace a value by a slower read that started earlier', async () => {
    const { cache, time } = aCache();
    const slow = aRead();
    const early = cache.fresh('a', slow.read);
    await begun(slow);
    time.now += 1;
    await cache.fresh('a', reading('new'));
    slow.resolve('old');
    await early;
    expect(await cache.cached('a', reading('other'))).toBe('new');
  });

  it('forgets an entry on request', async () => {
    const { cache } = aCache();
    await cache.cached('a', reading('old'));
    cache.forget('a');
    expect(await cache.cached('a', reading('new'))).toBe('new');
  });
});

const MIB = 1024 * 1024;

describe('the estimated size of a value in memory', () => {
  it.each([
    ['a long text', 'x'.repeat(MIB), 2 * MIB],
    ['a long name', { ['x'.repeat(MIB)]: 1 }, 2 * MIB],
    ['many small objects', Array.from({ length: 10_000 }, () => ({})), 10_000 * 64],
    ['many numbers', Array.from({ length: 10_000 }, (_, n) => n), 10_000 * 8],
    ['many short texts', { list: Array.from({ length: 10_000 }, (_, n) => `${n}`) }, 10_000 * 32],
  ])('is at least what %s needs, and less than five times that', (_name, value, bytes) => {
    expect(estimateHeapBytes(value)).toBeGreaterThanOrEqual(bytes);
    expect(estimateHeapBytes(value)).toBeLessThan(5 * bytes);
  });

  it('is greater than zero for empty values', () => {
    for (const value of [null, true, 0, '', [], {}]) expect(estimateHeapBytes(value)).toBeGreaterThan(0);
  });

  it('is computed for values nested deeper than the stack', () => {
    let nested: unknown = 1;
    for (let depth = 0; depth < 100_000; depth += 1) nested = [nested];
    expect(estimateHeapBytes(nested)).toBeGreaterThan(100_000 * 64);
  });
});

describe('combined calls', () => {
  it('within the time window and with the same key are one call, whose results go to the callers in order', async () => {
    const made: [string, number][] = [];
    const call = combineCalls<undefined, number>(5, (key, _asked, count) => {
      made.push([key, count]);
      return Promise.resolve(Array.from({ length: count }, (_, index) => index));
    });
    const results = await Promise.all([call('a', undefined), call('b', undefined), call('a', undefined)]);
    expect(results).toEqual([0, 0, 1]);
    expect(made).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });

  it('do not include calls made after the shared call started', async () => {
    const counts: number[] = [];
    const call = combineCalls<undefined, number>(1, async (_key, _asked, count) => {
      counts.push(count);
      await sleep(20);
      return Array.from({ length: count }, () => 0);
    });
    const first = call('a', undefined);
    await sleep(10);
    await Promise.all([first, call('a', undefined)]);
    expect(counts).toEqual([1, 1]);
  });

  it('all fail if the shared call fails, and later calls start a new one', async () => {
    const shared = vi.fn(() => Promise.resolve(['ok']));
    shared.mockRejectedValueOnce(new Error('throttled'));
    const call = combineCalls<undefined, string>(1, shared);
    const failed = await Promise.allSettled([call('a', undefined), call('a', undefined)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await call('a', undefined)).toBe('ok');
  });
});

describe('work in parallel', () => {
  it('is done for every item within the limit, with results in the order of the items', async () => {
    const gates = [0, 1, 2, 3].map(() => Promise.withResolvers<undefined>());
    const started: number[] = [];
    const all = inParallel([0, 1, 2, 3], 3, async (item) => {
      started.push(item);
      await gates[item]?.promise;
      return item * 10;
    });
    expect(started).toEqual([0, 1, 2]);
    gates[1]?.resolve(undefined);
    await expect.poll(() => started).toEqual([0, 1, 2, 3]);
    for (const gate of gates) gate.resolve(undefined);
    expect(await all).toEqual([0, 10, 20, 30]);
  });

  it('fails as soon as one item fails', async () => {
    const failing = inParallel([1, 2], 2, (item) =>
      item === 1 ? Promise.reject(new Error('first')) : new Promise<never>(() => undefined),
    );
    await expect(failing).rejects.toThrow('first');
  });

  it('on an empty list returns an empty list', async () => {
    expect(await inParallel([], 5, () => Promise.reject(new Error('called')))).toEqual([]);
  });
});
