import { describe, expect, it } from 'vitest';
import { generateScenario } from './generate-scenario.ts';
import { findingsIn, FIRST_SEED, isCaught, withoutFaults } from './is-caught.ts';
import { runScenario } from './run-scenario.ts';
import {
  acknowledgeBeforeRecord,
  indexKeyNotMoved,
  lateSuccessDoesNotWin,
  noAttemptNumber,
  noLease,
  nothingOwed,
  scheduleNamesWithoutDueTime,
  wakeUpBeforeRecord,
} from './sabotage.ts';
import { bodyKeptAfterRecord, takenOverWithoutMessage } from './sabotage-messages.ts';
import type { Scenario } from './scenario.ts';
import { shrink } from './shrink.ts';

/** Of each kind. */
const RIGHT_ONES = 60;

/** Where everything goes by Scheduler, which is where its names matter. */
const byScheduler = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, schedulerThresholdSeconds: 0 },
});

/** Receivers that take their time over a success and have none after it, and services as slow: results come late. */
const withLateSuccesses = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, attemptTimeoutMs: 15_000 },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    interests: {},
    confirmation: undefined,
    maxPerSecond: undefined,
    // One failure beside the late success ends it.
    policy: {
      retries_with_no_delay: 0,
      minimum_delay_retries: 0,
      backoff_retries: 0,
      maximum_delay_retries: 0,
    },
    answers: {
      first: [{ takesMs: 14_000, says: { status: 200 } }],
      then: { takesMs: 100, says: { status: 500 } },
    },
  })),
  changes: [],
  interventions: [],
  throttles: [],
  standstills: [],
  rates: { calls: 0.2, messages: 0.3 },
});

describe('the simulation catches a pipeline', () => {
  it('without a lease: requests are made twice at a time', async () => {
    expect(await isCaught(noLease, 'duplicates_are_explained', 300)).toBe(true);
  });

  it('that sends the wake-up before the record: it finds nothing to do yet, and reconcile has to help', async () => {
    expect(await isCaught(wakeUpBeforeRecord, 'nothing_late', 500, withoutFaults)).toBe(true);
  });

  it('that acknowledges before the record: a first attempt is lost with the function', async () => {
    expect(await isCaught(acknowledgeBeforeRecord, 'everything_ends', 500)).toBe(true);
  });

  it('whose wake-ups carry no attempt number: old copies go on', async () => {
    expect(await isCaught(noAttemptNumber, 'old_copies_do_nothing', 300)).toBe(true);
  });

  it('whose records do not say what is owed: a crash takes the notice with it', async () => {
    expect(await isCaught(nothingOwed, 'nothing_owed_is_forgotten', 500)).toBe(true);
  });

  it('whose schedules have names without the due time: one stands for another', async () => {
    expect(await isCaught(scheduleNamesWithoutDueTime, 'schedules_are_their_own', 2_000, byScheduler)).toBe(
      true,
    );
  });

  it('that keeps the body after the record: a retry finds none', async () => {
    expect(await isCaught(bodyKeptAfterRecord, 'the_body_is_kept', 500)).toBe(true);
  });

  it('whose reconcile does not move the index key: it multiplies a backlog', async () => {
    expect(await isCaught(indexKeyNotMoved, 'reconcile_does_not_multiply', 300)).toBe(true);
  });

  it('where a success that comes late does not win', async () => {
    expect(await isCaught(lateSuccessDoesNotWin, 'delivered_wins', 3_000, withLateSuccesses)).toBe(true);
  });

  it('that takes over a first attempt without keeping its message: reconcile wakes it in vain', async () => {
    expect(await isCaught(takenOverWithoutMessage, 'the_body_is_kept', 3_000)).toBe(true);
  });

  it.each([
    ['everything goes by Scheduler', byScheduler],
    ['successes come late', withLateSuccesses],
  ])('and not one that is right, where %s', async (_, adapted) => {
    expect(await findingsIn(RIGHT_ONES, adapted)).toEqual([]);
  });
});

describe('a failing run', () => {
  it('fails the same way once more, and is shortened to what it takes to fail', async () => {
    const failing = async (): Promise<number> => {
      for (let seed = FIRST_SEED; ; seed += 1) {
        const scenario = generateScenario(seed);
        // A fault in a chunk is named by the number of its call, which changes with each member that is taken out.
        if (scenario.settings.firstAttemptsPerJob > 1) continue;
        const { findings } = await runScenario(scenario, { sabotage: acknowledgeBeforeRecord });
        if (findings.length > 0) return seed;
      }
    };
    const seed = await failing();
    expect(await failing()).toBe(seed);

    const { outcome, scenario } = await shrink(generateScenario(seed), acknowledgeBeforeRecord);
    expect(outcome.findings.map(({ invariant }) => invariant)).toContain('everything_ends');
    expect(outcome.world.faults.injected.length).toBeLessThanOrEqual(3);
    expect(scenario.messages).toHaveLength(1);
    expect(scenario.subscriptions.length).toBeLessThanOrEqual(2);
  });
});
