import { describe, expect, it } from 'vitest';
import { runCampaign } from './campaign.ts';
import { chunkObserver, rareIn } from './chunk-observer.ts';
import { generateScenario } from './generate-scenario.ts';
import { runScenario } from './run-scenario.ts';
import { shrink, told } from './shrink.ts';
import { emptySummary, faultsIn, isClean, summaryOf, type Summary, added } from './summary.ts';

/** Some of what `npm run simulate` runs, by the same seeds at any time. */
const BLOCKS = 2;
const BLOCK = 1_000;

/** What chunks have to come to now and then. */
const OF_CHUNKS = [
  'unclaimed written',
  'unclaimed refused',
  'held written',
  'lapsed written',
  'claimed for several',
  'recorded together',
];

const failureOf = async (seed: number): Promise<string> =>
  told(await shrink(generateScenario(seed))).join('\n');

describe('under injected faults nothing is lost, repeated without a reason, early, or forgotten', () => {
  it.each(Array.from({ length: BLOCKS }, (_, block) => block * BLOCK))(
    'in the thousand scenarios from seed %i',
    async (from) => {
      let summary: Summary = emptySummary();
      const { seen, observing } = chunkObserver();
      for (let seed = from; seed < from + BLOCK; seed += 1) {
        const one = summaryOf(await runScenario(generateScenario(seed), { sabotage: observing }));
        if (!isClean(one)) expect.fail(await failureOf(seed));
        summary = added(summary, one);
      }
      // A simulation in which nothing happens proves nothing.
      expect(summary.attempts).toBeGreaterThan(BLOCK);
      expect(summary.duplicates).toBeGreaterThan(0);
      expect(faultsIn(summary)).toBeGreaterThan(10 * BLOCK);
      expect(rareIn(seen, OF_CHUNKS)).toEqual([]);
    },
  );
});

describe('a campaign', () => {
  const FAULTS = 2_000;
  const run = (workers: number) =>
    runCampaign({ seed: 4, faults: FAULTS, workers, progress: () => undefined });

  it('comes to the same sum however many workers it has', async () => {
    const one = await run(1);
    expect(one.failedSeeds).toEqual([]);
    expect(await run(3)).toEqual(one);
  });

  it('ends with the scenario in which the last fault asked for was injected', async () => {
    const { summary } = await run(2);
    expect(faultsIn(summary)).toBeGreaterThanOrEqual(FAULTS);
    expect(faultsIn(summary)).toBeLessThan(FAULTS + 1_000);
  });
});
