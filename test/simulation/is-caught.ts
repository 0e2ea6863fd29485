import { generateScenario } from './generate-scenario.ts';
import { runScenario } from './run-scenario.ts';
import type { Scenario } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

export const FIRST_SEED = 1;

/** Whether a sabotaged pipeline breaks this invariant in one of so many scenarios. */
export const isCaught = async (
  sabotage: Sabotage,
  by: string,
  within: number,
  adapted: (scenario: Scenario) => Scenario = (scenario) => scenario,
): Promise<boolean> => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + within; seed += 1) {
    const { findings } = await runScenario(adapted(generateScenario(seed)), { sabotage });
    if (findings.some(({ invariant }) => invariant === by)) return true;
  }
  return false;
};
