import { describe, expect, it } from 'vitest';
import { inParallel } from '../../../shared/adapters/in-parallel.ts';

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
