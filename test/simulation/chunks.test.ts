import { describe, expect, it } from 'vitest';
import { cancelledMeanwhile } from './cancelled-meanwhile.ts';
import { chunkObserver, rareIn } from './chunk-observer.ts';
import { generateScenario } from './generate-scenario.ts';
import { isCaught } from './is-caught.ts';
import { runScenario } from './run-scenario.ts';
import {
  claimGivenToTwo,
  lostWithItsHolderUncounted,
  recordedForgotten,
  successesNotRecorded,
  takenOutUntold,
} from './sabotage-chunks.ts';

describe('scenarios in which deliveries are cancelled meanwhile', () => {
  it('have some taken out by hand, before the claim and in the middle of an attempt', async () => {
    const { seen, observing } = chunkObserver();
    for (let seed = 1; seed <= 100; seed += 1) {
      const scenario = cancelledMeanwhile(generateScenario(seed));
      expect((await runScenario(scenario, { sabotage: observing })).findings).toEqual([]);
    }
    expect(rareIn(seen, ['taken out: taken_out', 'taken out early: taken_out', 'held refused'])).toEqual([]);
  });
});

describe('a pipeline is caught', () => {
  it('whose claim is given to two: requests are made twice at a time', async () => {
    expect(await isCaught(claimGivenToTwo, 'duplicates_are_explained', 20)).toBe(true);
  });

  it('that does not count as lost what a holder did not come back from', async () => {
    expect(await isCaught(lostWithItsHolderUncounted, 'duplicates_are_explained', 200)).toBe(true);
  });

  it('whose chunks do not learn who has a record of its own: a request is made after the end', async () => {
    expect(await isCaught(takenOutUntold, 'nothing_after_its_end', 100, cancelledMeanwhile)).toBe(true);
  });

  it('that says successes to be on record before they are: nobody looks after them', async () => {
    expect(await isCaught(successesNotRecorded, 'everything_ends', 200)).toBe(true);
  });

  it('that asks those again whose successes are on record', async () => {
    expect(await isCaught(recordedForgotten, 'nothing_after_its_end', 200)).toBe(true);
  });
});
