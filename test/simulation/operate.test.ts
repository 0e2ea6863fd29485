import { findingsIn, having, isCaught, withoutFaults } from './is-caught.ts';
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

const isDeleted = having(({ changes }) => changes.some(({ kind }) => kind === 'subscription_deleted'));

const deletedWithoutFaults = (scenario: Scenario): Scenario | undefined => isDeleted(withoutFaults(scenario));

describe('the simulation catches an operate', () => {
  it('whose recovery leaves out a delivery', async () => {
    expect(await isCaught(lastOfPageForgotten, 'recoveries_leave_out_nobody', 300)).toBe(true);
  });

  it('whose cancellation leaves out a delivery, which waits for its next attempt', async () => {
    expect(await isCaught(lastOfPageForgotten, 'deletions_cancel', 500, deletedWithoutFaults)).toBe(true);
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
    expect(await findingsIn(60, recoveredUnderFire)).toEqual([]);
  });
});
