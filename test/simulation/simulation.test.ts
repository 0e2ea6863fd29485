import { expect, it } from 'vitest';
import { CHUNK, runCampaign, seedOf } from './campaign.ts';
import { chunkObserver, rareIn } from './chunk-observer.ts';
import { generateScenario } from './generate-scenario.ts';
import { reachedBy } from './reached.ts';
import { runScenario } from './run-scenario.ts';
import { shrink, describeFailure } from './shrink.ts';
import { emptySummary, faultsIn, isClean, summaryOf, type Summary, addSummaries } from './summary.ts';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Part of what `npm run simulate` runs: the seeds from 0. */
const SCENARIOS = 400;

/** Chunk events that have to occur. */
const EXPECTED_CHUNK_EVENTS = [
  'unclaimed written',
  'unclaimed refused',
  'leased written',
  'lease_expired written',
  'claimed for several',
  'recorded together',
];

/** Unplanned events that have to occur. */
const EXPECTED_EVENTS = [
  'filtered out',
  'long list filtered',
  'interests changed before a repeat',
  'asked to confirm',
  'confirmed later',
  'asked to confirm again in mid-schedule',
  'cancelled: subscription_unconfirmed',
  'moved in mid-schedule',
  'another policy in mid-schedule',
  'another limit in mid-schedule',
  'another secret in mid-schedule',
  'disabled manually or enabled again in mid-schedule',
  'disabled as failing in mid-schedule',
  'marked for deletion in mid-schedule',
  'cancelled by operate',
  'reopened by operate',
  'cancelled: queue_deleted',
  'accepted in two lives',
  'partition throttled',
  'large message repeated',
  'erased',
  'cancelled: body_erased',
  'sent to one that did not match',
  'watched in mid-schedule',
  'throttled in mid-schedule',
  'circuit opened in mid-schedule',
];

const failureOf = async (seed: number): Promise<string> =>
  describeFailure(await shrink(generateScenario(seed))).join('\n');

it(`under injected faults no delivery is lost, duplicated without a reason, early or forgotten, in ${SCENARIOS} scenarios`, async () => {
  let summary: Summary = emptySummary();
  const { seen, observing } = chunkObserver();
  const reached: Partial<Record<string, number>> = {};
  for (let seed = 0; seed < SCENARIOS; seed += 1) {
    const outcome = await runScenario(generateScenario(seed), { sabotage: observing });
    const one = summaryOf(outcome);
    if (!isClean(one)) expect.fail(await failureOf(seed));
    summary = addSummaries(summary, one);
    for (const what of reachedBy(outcome.world)) reached[what] = (reached[what] ?? 0) + 1;
  }
  // Without events the simulation proves nothing.
  expect(summary.attempts).toBeGreaterThan(SCENARIOS);
  expect(summary.duplicates).toBeGreaterThan(0);
  expect(faultsIn(summary)).toBeGreaterThan(10 * SCENARIOS);
  expect(rareIn(seen, EXPECTED_CHUNK_EVENTS, 10)).toEqual([]);
  expect(rareIn(reached, EXPECTED_EVENTS, 5)).toEqual([]);
});

it('a campaign of two workers adds up the scenarios in their order, and ends with the one that reaches its faults', async () => {
  const SEED = 4;
  const FAULTS = 700;
  let summary = emptySummary();
  for (let index = 0; faultsIn(summary) < FAULTS; index += 1)
    summary = addSummaries(summary, summaryOf(await runScenario(generateScenario(seedOf(SEED, index)))));
  // The workers share the chunks.
  expect(summary.scenarios).toBeGreaterThan(2 * CHUNK);
  const campaign = { seed: SEED, faults: FAULTS, workers: 2, progress: () => undefined };
  expect(await runCampaign(campaign)).toEqual({ summary, failedSeeds: [] });
});

const entry = new URL('simulate.ts', import.meta.url).pathname;

it('npm run simulate prints one line of JSON', async () => {
  const line = '--seed 3 --faults 100 --workers 1 --json';
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [entry, ...line.split(' ')]);
  expect(stderr).toBe('');
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  const { scenarios, faults, attempts, duplicates, ...rest } = JSON.parse(stdout) as Record<string, unknown>;
  expect(rest).toEqual({ seed: 3, unexplainedDuplicates: 0, lost: 0, violations: 0 });
  expect([scenarios, faults, attempts, duplicates]).not.toContain(undefined);
});
