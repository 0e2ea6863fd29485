import { expect, it, vi } from 'vitest';
import { once } from '../../../shared/adapters/lambda/on-demand.ts';

it('loads an adapter once, and again after a load that failed', async () => {
  const tooManyFiles = Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  const load = vi
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(tooManyFiles)
    .mockResolvedValue('adapter');
  const adapter = once(load);

  expect(await Promise.allSettled([adapter(), adapter()])).toEqual([
    { status: 'rejected', reason: tooManyFiles },
    { status: 'rejected', reason: tooManyFiles },
  ]);
  expect(await Promise.all([adapter(), adapter()])).toEqual(['adapter', 'adapter']);
  expect(load).toHaveBeenCalledTimes(2);
});
