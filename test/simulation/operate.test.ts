import { findingsIn, isCaught } from './is-caught.ts';
import { recoveryForgotten } from './sabotage.ts';
import { lastOfPageForgotten, pageNotOnRecord, secondPassForgotten } from './sabotage-operate.ts';
import { MINUTE, type Scenario } from './scenario.ts';
import { describe, expect, it } from 'vitest';

/** Receivers that refuse at once, and are recovered again and again by an operate that keeps crashing in the middle of it. */
const recoveredUnderFire = (scenario: Scenario): Scenario => ({
  ...scenario,
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    maxPerSecond: undefined,
    answers: { first: [], then: { takesMs: 100, says: { status: 400 } } },
  })),
  interventions: [3, 6, 9, 12].map((minutes) => ({
    at: minutes * MINUTE,
    kind: 'recover',
    subscriptionId: undefined,
  })),
  changes: [],
  rates: { calls: 0.1, messages: 0.1 },
  calmAt: 30 * MINUTE,
});

describe('the simulation catches an operate', () => {
  it.each([
    ['recovery leaves out a delivery', 'recoveries_leave_out_nobody'],
    ['cancellation leaves out a delivery, which waits for its next attempt', 'deletions_cancel'],
  ])('whose %s', async (_, invariant) => {
    expect(await isCaught(lastOfPageForgotten, invariant, 300)).toBe(true);
  });

  it('that does not put on record what it works on: a crash leaves it out', async () => {
    expect(await isCaught(pageNotOnRecord, 'recoveries_leave_out_nobody', 300)).toBe(true);
  });

  it('that makes one pass over what is pending for a deleted subscription: its mark stays', async () => {
    expect(await isCaught(secondPassForgotten, 'marks_are_removed', 300)).toBe(true);
  });

  it('whose deliveries do not remember which recovery brought them back: they come back twice', async () => {
    expect(await isCaught(recoveryForgotten, 'once_per_recovery', 300, recoveredUnderFire)).toBe(true);
  });

  it('and not one that is right, where everything is recovered while it crashes', async () => {
    expect(await findingsIn(100, recoveredUnderFire)).toEqual([]);
  });
});
