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
  pendingStepsNotRecorded,
  scheduleNamesWithoutDueTime,
  wakeUpBeforeRecord,
  bodyKeptAfterRecord,
  takenOverWithoutMessage,
} from './sabotage.ts';
import type { Scenario } from './scenario.ts';
import { shrink } from './shrink.ts';

/** Runs of the correct pipeline per kind. */
const CORRECT_RUNS = 60;

/** Scenarios that use Scheduler for every retry, because schedule names matter only there. */
const byScheduler = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, schedulerThresholdSeconds: 0 },
});

/** Receivers with one slow success followed by failures, and slow services: results are late. */
const withLateSuccesses = (scenario: Scenario): Scenario => ({
  ...scenario,
  settings: { ...scenario.settings, attemptTimeoutMs: 15_000 },
  subscriptions: scenario.subscriptions.map((one) => ({
    ...one,
    interests: {},
    confirmation: undefined,
    maxPerSecond: undefined,
    // One failure besides the late success ends the delivery.
    policy: {
      retries_with_no_delay: 0,
      minimum_delay_retries: 0,
      backoff_retries: 0,
      maximum_delay_retries: 0,
    },
    answers: {
      first: [{ takesMs: 14_000, response: { status: 200 } }],
      then: { takesMs: 100, response: { status: 500 } },
    },
  })),
  messages: scenario.messages.slice(0, 2),
  changes: [],
  interventions: [],
  throttles: [],
  standstills: [],
  rates: { calls: 0.2, messages: 0.3 },
});

describe('the simulation catches a pipeline', () => {
  it('without a lease: concurrent duplicate requests', async () => {
    expect(await isCaught(noLease, 'duplicates_are_explained', 300)).toBe(true);
  });

  it('that sends the wake-up before the record: it is dropped, and reconcile has to help', async () => {
    expect(await isCaught(wakeUpBeforeRecord, 'nothing_late', 500, withoutFaults)).toBe(true);
  });

  it('that acknowledges before the record: a crash loses a first attempt', async () => {
    expect(await isCaught(acknowledgeBeforeRecord, 'everything_ends', 500)).toBe(true);
  });

  it('whose wake-ups have no attempt number: old copies make requests', async () => {
    expect(await isCaught(noAttemptNumber, 'old_copies_are_ignored', 300)).toBe(true);
  });

  it('whose records have no pending steps: a crash loses the undeliverable message', async () => {
    expect(await isCaught(pendingStepsNotRecorded, 'pending_steps_are_done', 500)).toBe(true);
  });

  it('whose schedule names lack the due time: one replaces another', async () => {
    expect(await isCaught(scheduleNamesWithoutDueTime, 'schedules_are_distinct', 2_000, byScheduler)).toBe(
      true,
    );
  });

  it('that stores the body after the record: a retry finds none', async () => {
    expect(await isCaught(bodyKeptAfterRecord, 'the_body_is_kept', 500)).toBe(true);
  });

  it('whose reconcile does not postpone: it multiplies a backlog', async () => {
    expect(await isCaught(indexKeyNotMoved, 'reconcile_does_not_multiply', 300)).toBe(true);
  });

  it('in which a late success does not win', async () => {
    expect(await isCaught(lateSuccessDoesNotWin, 'delivered_wins', 3_000, withLateSuccesses)).toBe(true);
  });

  it('that takes over a first attempt without storing its message: a wake-up by reconcile finds none', async () => {
    expect(await isCaught(takenOverWithoutMessage, 'the_body_is_kept', 3_000)).toBe(true);
  });

  it.each([
    ['everything uses Scheduler', byScheduler],
    ['successes are late', withLateSuccesses],
  ])('and finds nothing in the correct one when %s', async (_, adapted) => {
    expect(await findingsIn(CORRECT_RUNS, adapted)).toEqual([]);
  });
});

describe('a failing run', () => {
  it('is reproducible and is shrunk to a minimal failing scenario', async () => {
    const failing = async (): Promise<number> => {
      for (let seed = FIRST_SEED; ; seed += 1) {
        const scenario = generateScenario(seed);
        // Fault names in a chunk contain call numbers, which change with each removed member.
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
