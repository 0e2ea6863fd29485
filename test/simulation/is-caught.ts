import { generateScenario } from './generate-scenario.ts';
import type { Finding } from './invariants/delivery-case.ts';
import { runScenario } from './run-scenario.ts';
import type { Scenario } from './scenario.ts';
import type { Sabotage } from './simulated-world.ts';

export const FIRST_SEED = 1;

/** Whether a sabotaged pipeline violates the invariant in one of `within` scenarios. `adapted` may skip scenarios. */
export const isCaught = async (
  sabotage: Sabotage,
  by: string,
  within: number,
  adapted: (scenario: Scenario) => Scenario | undefined = (scenario) => scenario,
): Promise<boolean> => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + within; seed += 1) {
    const scenario = adapted(generateScenario(seed));
    if (scenario === undefined) continue;
    const { findings } = await runScenario(scenario, { sabotage });
    if (findings.some(({ invariant }) => invariant === by)) return true;
  }
  return false;
};

/** The findings of the correct pipeline in this many scenarios. */
export async function findingsIn(
  scenarios: number,
  adapted: (scenario: Scenario) => Scenario,
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (let seed = FIRST_SEED; seed < FIRST_SEED + scenarios; seed += 1)
    found.push(...(await runScenario(adapted(generateScenario(seed)))).findings);
  return found;
}

/** Skips scenarios without this feature. */
export const onlyWith =
  (isPlanned: (scenario: Scenario) => boolean) =>
  (scenario: Scenario): Scenario | undefined =>
    isPlanned(scenario) ? scenario : undefined;

/** Removes all faults, so that only the pipeline can cause lateness. */
export const withoutFaults = (scenario: Scenario): Scenario => ({
  ...scenario,
  rates: { calls: 0, messages: 0 },
  throttles: [],
  standstills: [],
});
