import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { combineCalls } from '../../../shared/adapters/combine-calls.ts';

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
    let fails = true;
    const call = combineCalls<undefined, string>(1, (_key, _asked, count) =>
      fails
        ? Promise.reject(new Error('throttled'))
        : Promise.resolve(Array.from({ length: count }, () => 'ok')),
    );
    const failed = await Promise.allSettled([call('a', undefined), call('a', undefined)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    fails = false;
    expect(await call('a', undefined)).toBe('ok');
  });
});
