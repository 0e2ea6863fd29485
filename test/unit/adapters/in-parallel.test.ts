import { describe, expect, it } from 'vitest';
import { limitConcurrency } from '../../../shared/adapters/in-parallel.ts';

describe('limitConcurrency', () => {
  it('runs no more than the given number of tasks at once, and starts them in order', async () => {
    const slots = limitConcurrency(2);
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    let most = 0;
    const all = Array.from({ length: 5 }, (_, index) =>
      slots(async () => {
        begun.push(index);
        await new Promise<void>((resolve) => (most = Math.max(most, ends.push(resolve))));
        return index;
      }),
    );
    for (let ended = 0; ended < 5; ended += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      ends.shift()?.();
    }
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4]);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(2);
  });

  it('frees the slot of a failed task, and does not start an aborted one', async () => {
    const slots = limitConcurrency(1);
    const failing = slots(() => Promise.reject(new Error('no')));
    const givenUp = slots(() => Promise.resolve('begun'), AbortSignal.abort());
    const next = slots(() => Promise.resolve('done'));
    await expect(failing).rejects.toThrow('no');
    await expect(givenUp).rejects.toThrow(/abort/i);
    expect(await next).toBe('done');
  });
});
