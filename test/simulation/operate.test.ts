import { findingsIn, onlyWith, isCaught, withoutFaults } from './is-caught.ts';
import { recoveryForgotten } from './sabotage.ts';
import { lastOfPageForgotten, pageKeptInPart, pageNotOnRecord, secondPassForgotten } from './sabotages.ts';
import { MINUTE, type Scenario } from './scenario.ts';
import { describe, expect, it } from 'vitest';

/** Receivers that reject at once and are recovered repeatedly while operate keeps crashing. */
const recoveredDuringCrashes = (scenario: Scenario): Scenario => ({
  ...scenario,
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    maxPerSecond: undefined,
    answers: { first: [], then: { takesMs: 100, response: { status: 400 } } },
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

const isDeleted = onlyWith(({ changes }) => changes.some(({ kind }) => kind === 'subscription_deleted'));

const deletedWithoutFaults = (scenario: Scenario): Scenario | undefined => isDeleted(withoutFaults(scenario));

describe('the simulation catches an operate function', () => {
  it('whose recovery skips a delivery', async () => {
    expect(await isCaught(lastOfPageForgotten, 'recoveries_include_all', 300)).toBe(true);
  });

  it('whose cancellation skips a delivery, which waits for its next attempt', async () => {
    expect(await isCaught(lastOfPageForgotten, 'deletions_cancel', 500, deletedWithoutFaults)).toBe(true);
  });

  it('that does not record its batch: a crash skips deliveries', async () => {
    expect(await isCaught(pageNotOnRecord, 'recoveries_include_all', 300)).toBe(true);
  });

  it('that does not store a page whole: the outcomes of the recovery lack deliveries', async () => {
    expect(await isCaught(pageKeptInPart, 'recoveries_prove', 300)).toBe(true);
  });

  it('that makes only one pass after a deletion: the marked subscription is not removed', async () => {
    expect(await isCaught(secondPassForgotten, 'deleted_subscriptions_are_removed', 300)).toBe(true);
  });

  it('whose deliveries do not store their recovery: they are reopened twice', async () => {
    expect(await isCaught(recoveryForgotten, 'once_per_recovery', 300, recoveredDuringCrashes)).toBe(true);
  });

  it('and finds nothing in the correct one during recoveries with crashes', async () => {
    expect(await findingsIn(60, recoveredDuringCrashes)).toEqual([]);
  });
});
