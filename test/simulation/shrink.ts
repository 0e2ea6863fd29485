import { runScenario, type Outcome } from './run-scenario.ts';
import type { Scenario } from './scenario.ts';
import type { RunOptions, Sabotage } from './simulated-world.ts';

/** A failing run that is as small as was found in time. */
export type Shrunk = { scenario: Scenario; spared: ReadonlySet<string>; outcome: Outcome };

const MOST_RUNS = 400;

/** Takes faults, messages, subscriptions and changes out of a failing run while it still fails in the same way. */
export const shrink = async (scenario: Scenario, sabotage: Sabotage = {}): Promise<Shrunk> => {
  let runs = 0;
  const run = (one: Scenario, options: RunOptions): Promise<Outcome> => {
    runs += 1;
    return runScenario(one, { ...options, sabotage });
  };
  const first = await run(scenario, {});
  let best: Shrunk = { scenario, spared: new Set(), outcome: first };
  const wanted = first.findings[0]?.invariant;
  if (wanted === undefined) return best;

  const attempt = async (candidate: Scenario, spared: ReadonlySet<string>): Promise<boolean> => {
    if (runs >= MOST_RUNS) return false;
    const outcome = await run(candidate, { spared });
    if (!outcome.findings.some(({ invariant }) => invariant === wanted)) return false;
    best = { scenario: candidate, spared, outcome };
    return true;
  };

  const simplify = async (): Promise<boolean> => {
    for (const smaller of simplifications)
      for (const candidate of smaller(best.scenario)) if (await attempt(candidate, best.spared)) return true;
    return false;
  };
  const spare = async (): Promise<void> => {
    for (let size = best.outcome.world.faults.injected.length; size >= 1; size = Math.floor(size / 2))
      await spareRuns(size, () => best, attempt);
  };

  // With few faults left, more of the scenario can go; and then, more of the faults.
  await spare();
  while (await simplify()) await spare();
  best = {
    ...best,
    outcome: await runScenario(best.scenario, { spared: best.spared, traced: true, sabotage }),
  };
  return best;
};

/** Tries to do without each run of `size` faults in turn. */
const spareRuns = async (
  size: number,
  best: () => Shrunk,
  attempt: (scenario: Scenario, spared: ReadonlySet<string>) => Promise<boolean>,
): Promise<void> => {
  for (let start = 0; start < best().outcome.world.faults.injected.length;) {
    const { scenario, spared, outcome } = best();
    const names = outcome.world.faults.injected.slice(start, start + size).map(({ name }) => name);
    if (!(await attempt(scenario, new Set([...spared, ...names])))) start += size;
  }
};

const without = <T>(items: readonly T[]): T[][] =>
  items.length < 2 ? [] : items.map((_, index) => items.filter((_item, other) => other !== index));

/** Each is smaller than what it is made of. */
const simplifications: readonly ((scenario: Scenario) => Scenario[])[] = [
  (scenario) => without(scenario.messages).map((messages) => ({ ...scenario, messages })),
  (scenario) =>
    scenario.subscriptions.length < 2
      ? []
      : scenario.subscriptions.map((one) => ({ ...scenario, subscriptions: [one] })),
  (scenario) => without(scenario.subscriptions).map((subscriptions) => ({ ...scenario, subscriptions })),
  (scenario) => (scenario.changes.length === 0 ? [] : [{ ...scenario, changes: [] }]),
  (scenario) => without(scenario.changes).map((changes) => ({ ...scenario, changes })),
  (scenario) => without(scenario.interventions).map((interventions) => ({ ...scenario, interventions })),
  (scenario) => (scenario.interventions.length === 0 ? [] : [{ ...scenario, interventions: [] }]),
  (scenario) => (scenario.standstills.length === 0 ? [] : [{ ...scenario, standstills: [] }]),
  (scenario) => (scenario.skewMs === 0 ? [] : [{ ...scenario, skewMs: 0 }]),
  (scenario) =>
    scenario.messages.every(({ repeats }) => repeats.length === 0)
      ? []
      : [{ ...scenario, messages: scenario.messages.map((one) => ({ ...one, repeats: [] })) }],
];

const MOST_LINES = 60;

/** A failing run told in lines: what is wrong, which faults it took, and what happened to whom it happened to. */
export const told = ({ scenario, outcome }: Shrunk): string[] => {
  const { findings, world } = outcome;
  const subject = findings[0]?.subject ?? '';
  const trace = (world.history.trace ?? []).filter(
    (line) => line.includes(subject) || line.includes('reconcile'),
  );
  return [
    `seed ${scenario.seed} fails:`,
    ...findings.map(({ invariant, subject: of, detail }) => `  ${invariant}: ${of}: ${detail}`),
    `shortened to ${scenario.messages.length} messages, ${scenario.subscriptions.length} subscriptions and these faults:`,
    ...world.faults.injected.map(({ at, kind, name }) => `  ${at} ${kind} at ${name}`),
    `the last of what happened to ${subject}:`,
    ...trace.slice(-MOST_LINES).map((line) => `  ${line}`),
  ];
};
