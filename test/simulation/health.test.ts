import { findingsIn, isCaught } from './is-caught.ts';
import {
  burstsCounted,
  eventRemovedBeforeSending,
  successesIgnored,
  staleHealthAccepted,
} from './sabotage-health.ts';
import { HOUR, MINUTE, SECOND, type Scenario } from './scenario.ts';
import { describe, expect, it } from 'vitest';

/** Receivers that respond slowly with 410 and are changed or enabled during the request. */
const repairedDuringRequests = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, attemptTimeoutMs: 15_000 },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    at: -HOUR,
    answers: {
      first: [{ takesMs: 14_000, response: { status: 500 } }],
      then: { takesMs: 14_000, response: { status: 410 } },
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

/** Permanently failing receivers whose failures come within minutes, long after a first one. */
const failingInBursts = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, disableFailingAfterMs: HOUR },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    at: -HOUR,
    failures: 19,
    policy: { retries_with_no_delay: 9, minimum_delay_retries: 10, minimum_delay: 10, maximum_delay: 10 },
    answers: { first: [], then: { takesMs: 100, response: { status: 500 } } },
  })),
  changes: [],
  standstills: [],
  rates: { calls: 0, messages: 0 },
  calmAt: 5 * MINUTE,
});

/** Receivers that fail each message once, 90 minutes apart, after an hour of failures: never two hours in a row. */
const recoveringAfterEachFailure = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, disableFailingAfterMs: 2 * HOUR },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    at: -HOUR,
    ttlSeconds: undefined,
    failures: 30,
    policy: { retries_with_no_delay: 0, minimum_delay_retries: 3, minimum_delay: 60, maximum_delay: 60 },
    answers: {
      first: [{ takesMs: 100, response: { status: 500 } }],
      then: { takesMs: 100, response: { status: 200 } },
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
  it('that ignores successes: it disables a subscription that is not failing', async () => {
    expect(await isCaught(successesIgnored, 'disabled_as_failing', 300, recoveringAfterEachFailure)).toBe(
      true,
    );
  });

  it('that counts bursts of failures: it disables before operators could react', async () => {
    expect(await isCaught(burstsCounted, 'disabled_as_failing', 300, failingInBursts)).toBe(true);
  });

  it('that ignores which URL an attempt called: it disables a repaired subscription', async () => {
    expect(await isCaught(staleHealthAccepted, 'health_matches_responses', 300, repairedDuringRequests)).toBe(
      true,
    );
  });

  it('that removes a pending event before sending it: a crash loses it', async () => {
    expect(await isCaught(eventRemovedBeforeSending, 'operators_are_notified', 3_000)).toBe(true);
  });

  it.each([
    ['subscriptions are repaired during requests', repairedDuringRequests],
    ['failures come in bursts', failingInBursts],
    ['subscribers recover after each failure', recoveringAfterEachFailure],
  ])('and finds nothing in the correct one when %s', async (_, adapted) => {
    expect(await findingsIn(60, adapted)).toEqual([]);
  });
});
