import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { NO_COUNTS } from '../../shared/domain/subscription/back-pressure.ts';
import type { CountingWindows } from '../../shared/ports/pace.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';

const counts = { ...NO_COUNTS, deliveries: 2, requests: 3, answered: 1, down: 2 };

/** Contract of counting windows: the sum of one version, which nothing earlier changes. */
export const describeCountingWindowsContract = (name: string, windows: CountingWindows): void => {
  describe(`counting windows ${name}`, () => {
    it('have the sum of what concurrent instances added, and how often they did', async () => {
      const key = { queue: 'orders', subscriptionId: randomUUID() };
      expect(await windows.find(key)).toBeUndefined();
      await Promise.all(Array.from({ length: 8 }, () => windows.add(key, SOME_TIME, counts)));
      expect(await windows.find(key)).toEqual({
        version: SOME_TIME,
        writes: 8,
        deliveries: 16,
        requests: 24,
        answered: 8,
        refused: 0,
        down: 16,
      });
    });

    it('begin anew with a later version, and ignore an earlier one', async () => {
      const key = { queue: 'orders', subscriptionId: randomUUID() };
      for (const version of [2, 3, 2]) await windows.add(key, SOME_TIME + version, counts);
      expect(await windows.find(key)).toEqual({ ...counts, version: SOME_TIME + 3, writes: 1 });
    });
  });
};
