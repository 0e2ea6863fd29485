import { describe, expect, it } from 'vitest';
import { readCache } from '../../../shared/adapters/read-cache.ts';
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

  it('shares a read and its failure between concurrent callers, but not with later ones', async () => {
    const { cache } = aCache();
    const failing = aRead();
    const asked = [cache.cached('a', failing.read), cache.cached('a', failing.read)];
    failing.reject(new Error('throttled'));
    const answers = await Promise.allSettled(asked);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(failing.timesStarted()).toBe(1);
    expect(await cache.cached('a', reading('new'))).toBe('new');
  });

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
    const together = [
      cache.fresh('a', first.read),
      cache.fresh('a', first.read),
      cache.fresh('b', first.read),
    ];
    await begun(first);
    const later = cache.fresh('a', second.read);
    second.resolve('new');
    expect(await later).toBe('new');
    first.resolve('old');
    expect(await Promise.all(together)).toEqual(['old', 'old', 'old']);
    expect([first.timesStarted(), second.timesStarted()]).toEqual([2, 1]);
  });

  it('reports the failure of a fresh read to all callers, and reads again for the next', async () => {
    const { cache } = aCache();
    const failing = aRead();
    const together = Promise.allSettled([cache.fresh('a', failing.read), cache.fresh('a', failing.read)]);
    failing.reject(new Error('throttled'));
    expect((await together).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await cache.fresh('a', reading('new'))).toBe('new');
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
