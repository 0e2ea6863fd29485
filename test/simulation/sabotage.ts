import { describe, expect, it } from 'vitest';
import type { Transition } from '../../shared/domain/delivery/delivery.ts';
import type { WriteResult } from '../../shared/ports/deliveries.ts';
import { generateScenario } from './generate-scenario.ts';
import type { Finding } from './invariants/delivery-case.ts';
import type { StepPorts } from './ports.ts';
import { runScenario } from './run-scenario.ts';
import { NO_FAULTS, type Scenario } from './scenario.ts';
import type { Sabotage, SabotageContext } from './simulated-world.ts';

export const FIRST_SEED = 1;

/** Far more scenarios than any sabotage takes until one shows it. */
const MOST_SEARCHED = 3_000;

type Caught = Sabotage & {
  /** The invariant that finds it. */
  by: string;
  /** The scenario that shows it: a search takes up to a thousand. A failure names the one after a change of the generator. */
  seed: number;
  /** In such scenarios. Undefined: skips one. */
  among?: (scenario: Scenario) => Scenario | undefined;
};

/** Each sabotaged pipeline violates its invariant. */
export const itCatches = (sabotages: Readonly<Record<string, Caught>>): void => {
  describe('the simulation catches a pipeline', () => {
    it.each(Object.entries(sabotages))('%s', async (_what, { seed, ...sabotage }) => {
      const shownBy = (await isCaught(seed, sabotage)) ? seed : await search(sabotage);
      expect(shownBy, 'the seed that shows it (undefined: none does)').toBe(seed);
    });
  });
};

const search = async (sabotage: Omit<Caught, 'seed'>): Promise<number | undefined> => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + MOST_SEARCHED; seed += 1)
    if (await isCaught(seed, sabotage)) return seed;
  return undefined;
};

const isCaught = async (
  seed: number,
  { by, among = (scenario) => scenario, ...sabotage }: Omit<Caught, 'seed'>,
): Promise<boolean> => {
  const scenario = among(generateScenario(seed));
  if (scenario === undefined) return false;
  const { findings } = await runScenario(scenario, { sabotage });
  return findings.some(({ invariant }) => invariant === by);
};

/** The correct pipeline violates nothing in so many scenarios of each kind. */
export const itAccepts = (
  scenarios: number,
  kinds: Readonly<Record<string, (scenario: Scenario) => Scenario>>,
): void => {
  describe('the simulation finds nothing in the correct pipeline', () => {
    it.each(Object.entries(kinds))('%s', async (_what, among) => {
      const found: Finding[] = [];
      for (let seed = FIRST_SEED; seed < FIRST_SEED + scenarios; seed += 1)
        found.push(...(await runScenario(among(generateScenario(seed)))).findings);
      expect(found).toEqual([]);
    });
  });
};

/** Rendering is no port, but a function. */
type PortName = Exclude<keyof StepPorts, 'render'>;

/** The ports with some methods of one replaced. */
export const replaced = <Name extends PortName>(
  ports: StepPorts,
  name: Name,
  methods: Partial<StepPorts[Name]>,
): StepPorts => ({ ...ports, [name]: { ...ports[name], ...methods } });

/** Replaces methods of one port. */
export const replacing = <Name extends PortName>(
  name: Name,
  methodsOf: (port: StepPorts[Name], ports: StepPorts, context: SabotageContext) => Partial<StepPorts[Name]>,
): Sabotage => ({
  ports: (ports, context) => replaced(ports, name, methodsOf(ports[name], ports, context)),
});

/** Replaces the writes of deliveries. Undefined: the correct write. */
export const writing = (
  write: (
    transition: Transition,
    ports: StepPorts,
    context: SabotageContext,
  ) => Promise<WriteResult> | undefined,
): Sabotage =>
  replacing('deliveries', (deliveries, ports, context) => ({
    write: (transition) => write(transition, ports, context) ?? deliveries.write(transition),
  }));

/** Skips scenarios without this feature. */
export const onlyWith =
  (isPlanned: (scenario: Scenario) => boolean) =>
  (scenario: Scenario): Scenario | undefined =>
    isPlanned(scenario) ? scenario : undefined;

/** Removes all faults, so that only the pipeline can cause lateness. */
export const withoutFaults = (scenario: Scenario): Scenario => ({
  ...scenario,
  rates: NO_FAULTS,
  throttles: [],
  standstills: [],
});
