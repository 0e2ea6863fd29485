import { describe, expect, it } from 'vitest';
import { generateScenario } from './generate-scenario.ts';
import { FIRST_SEED, isCaught } from './is-caught.ts';
import { runScenario } from './run-scenario.ts';
import {
  bodiesKeptById,
  livesForgotten,
  recreatedMeanwhile,
  versionsForgotten,
} from './sabotage-identity.ts';

describe('the simulation catches a pipeline', () => {
  it('whose records do not tell versions apart: a repeat sends what was not accepted', async () => {
    expect(await isCaught(versionsForgotten, 'the_body_is_unchanged', 300)).toBe(true);
  });

  it('whose records do not tell the lives of a queue apart: a new message is taken for an old one', async () => {
    expect(await isCaught(livesForgotten, 'everything_ends', 300)).toBe(true);
  });

  it('that keeps the body of an old message for a new one of the same id: its retries send the old', async () => {
    expect(await isCaught(bodiesKeptById, 'the_body_is_unchanged', 20, recreatedMeanwhile)).toBe(true);
  });

  it('and finds nothing in the right one where a queue is made anew in the middle of an attempt', async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + 100; seed += 1) {
      const { findings } = await runScenario(recreatedMeanwhile(generateScenario(seed)));
      expect(findings).toEqual([]);
    }
  });
});
