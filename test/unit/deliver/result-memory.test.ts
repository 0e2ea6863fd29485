import { describe, expect, it } from 'vitest';
import { resultMemory } from '../../../functions/deliver/pressure.ts';
import type { RecentResults } from '../../../shared/domain/subscription/recent-results.ts';

describe('the memory of results', () => {
  it('is apart for each subscription, and forgets the one without results for longest beyond ten thousand', () => {
    const memory = resultMemory();
    const answer = (subscription: string): RecentResults =>
      memory.update({ queue: 'orders', subscriptionId: subscription }, (known) => ({
        version: 0,
        latest: [],
        quietUntil: 0,
        answered: 1 + (known?.answered ?? 0),
        answeredAt: 0,
      }));
    for (let index = 0; index < 10_000; index += 1) answer(`s-${index}`);
    answer('s-0');
    answer('s-10000');
    const answered = ['s-0', 's-2', 's-1'].map((subscription) => answer(subscription).answered);
    expect(answered).toEqual([3, 2, 1]);
  });
});
