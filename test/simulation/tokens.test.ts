import { expect, it } from 'vitest';
import { generateScenario } from './generate-scenario.ts';
import { reachedBy } from './reached.ts';
import { runScenario } from './run-scenario.ts';
import { withTokens } from './simulated-tokens.ts';
import { isClean, summaryOf } from './summary.ts';

const SCENARIOS = 30;

it('attempts without a token are recorded, retried and counted as lost like others', async () => {
  const failed: number[] = [];
  let reached = 0;
  for (let seed = 0; seed < SCENARIOS; seed += 1) {
    const outcome = await runScenario(withTokens(generateScenario(seed)));
    if (!isClean(summaryOf(outcome))) failed.push(seed);
    if (reachedBy(outcome.world).has('attempt without a token')) reached += 1;
  }
  expect(failed).toEqual([]);
  expect(reached).toBeGreaterThan(SCENARIOS / 4);
});
