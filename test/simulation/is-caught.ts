import { generateScenario } from './generate-scenario.ts';
import type { Finding } from './invariants/delivery-case.ts';
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

/** What the right pipeline does wrong in so many scenarios. */
export async function findingsIn(
  scenarios: number,
  adapted: (scenario: Scenario) => Scenario,
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (let seed = FIRST_SEED; seed < FIRST_SEED + scenarios; seed += 1)
    found.push(...(await runScenario(adapted(generateScenario(seed)))).findings);
  return found;
}
