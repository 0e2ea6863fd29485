import { findingsIn, isCaught } from './is-caught.ts';
import { burstsCounted, sentBeforeTold, successUnnoted, wentByUnminded } from './sabotage-health.ts';
import { HOUR, MINUTE, SECOND, type Scenario } from './scenario.ts';
import { describe, expect, it } from 'vitest';

/** Receivers that say slowly that they are gone, and are replaced or enabled meanwhile. */
const repairedMeanwhile = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, attemptTimeoutMs: 15_000 },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    at: -HOUR,
    answers: {
      first: [{ takesMs: 14_000, says: { status: 500 } }],
      then: { takesMs: 14_000, says: { status: 410 } },
    },
  })),
  changes: scenario.subscriptions.flatMap(({ id }) =>
    [5, 20, 35, 50, 65].map((seconds) => ({
      at: seconds * SECOND,
      ...(seconds % 30 === 5
        ? { kind: 'subscription_enabled' as const }
        : { kind: 'subscription_url' as const, hasNewOrigin: false }),
      id,
    })),
  ),
});

/** Receivers that are down for good, all of whose failures come within minutes, after a first one long ago. */
const failingInBursts = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, disableFailingAfterMs: HOUR },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    at: -HOUR,
    failures: 19,
    policy: { retries_with_no_delay: 9, minimum_delay_retries: 10, minimum_delay: 10, maximum_delay: 10 },
    answers: { first: [], then: { takesMs: 100, says: { status: 500 } } },
  })),
  changes: [],
  standstills: [],
  rates: { calls: 0, messages: 0 },
  calmAt: 5 * MINUTE,
});

/** Receivers that fail each message once, an hour and a half apart, after they had failed for an hour: they never fail for two. */
const wellAgain = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, disableFailingAfterMs: 2 * HOUR },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    at: -HOUR,
    ttlSeconds: undefined,
    failures: 30,
    policy: { retries_with_no_delay: 0, minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 },
    answers: {
      first: [{ takesMs: 100, says: { status: 500 } }],
      then: { takesMs: 100, says: { status: 200 } },
    },
  })),
  messages: scenario.messages.map((one, index) => ({
    ...one,
    at: 90 * index * MINUTE,
    ttlSeconds: undefined,
    repeats: [],
  })),
  changes: [],
  interventions: [],
});

describe('the simulation catches a pipeline', () => {
  it('that does not note successes: a subscription is disabled that was not failing', async () => {
    expect(await isCaught(successUnnoted, 'disabled_as_failing', 300, wellAgain)).toBe(true);
  });

  it('that disables for failures in bursts: operators had no time to see to it', async () => {
    expect(await isCaught(burstsCounted, 'disabled_as_failing', 300, failingInBursts)).toBe(true);
  });

  it('that minds not which subscriber an attempt was made to: one is disabled that was repaired', async () => {
    expect(await isCaught(wentByUnminded, 'said_of_itself', 300, repairedMeanwhile)).toBe(true);
  });

  it('that takes off what operators are to be told before it is sent: a crash takes it along', async () => {
    expect(await isCaught(sentBeforeTold, 'operators_are_told', 3_000)).toBe(true);
  });

  it.each([
    ['subscribers are repaired meanwhile', repairedMeanwhile],
    ['failures come in bursts', failingInBursts],
    ['subscribers are well again after each failure', wellAgain],
  ])('and not one that is right, where %s', async (_, adapted) => {
    expect(await findingsIn(60, adapted)).toEqual([]);
  });
});
