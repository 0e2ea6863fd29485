import { runScenario, type Outcome } from './run-scenario.ts';
import type { Scenario } from './scenario.ts';
import type { RunOptions, Sabotage } from './simulated-world.ts';

/** The smallest failing run that was found. */
export type ShrunkRun = { scenario: Scenario; excluded: ReadonlySet<string>; outcome: Outcome };

const MAX_RUNS = 400;

/** Removes faults, messages, subscriptions and changes from a failing run while it still fails in the same way. */
export const shrink = async (scenario: Scenario, sabotage: Sabotage = {}): Promise<ShrunkRun> => {
  let runs = 0;
  const run = (one: Scenario, options: RunOptions): Promise<Outcome> => {
    runs += 1;
    return runScenario(one, { ...options, sabotage });
  };
  const first = await run(scenario, {});
  let best: ShrunkRun = { scenario, excluded: new Set(), outcome: first };
  const wanted = first.findings[0]?.invariant;
  if (wanted === undefined) return best;

  const attempt = async (candidate: Scenario, excluded: ReadonlySet<string>): Promise<boolean> => {
    if (runs >= MAX_RUNS) return false;
    const outcome = await run(candidate, { excluded });
    if (!outcome.findings.some(({ invariant }) => invariant === wanted)) return false;
    best = { scenario: candidate, excluded, outcome };
    return true;
  };

  const simplify = async (): Promise<boolean> => {
    for (const smaller of simplifications)
      for (const candidate of smaller(best.scenario))
        if (await attempt(candidate, best.excluded)) return true;
    return false;
  };
  const excludeFaults = async (): Promise<void> => {
    for (let size = best.outcome.world.faults.injected.length; size >= 1; size = Math.floor(size / 2))
      await excludeRuns(size, () => best, attempt);
  };

  // Fewer faults allow a smaller scenario, which allows fewer faults.
  await excludeFaults();
  while (await simplify()) await excludeFaults();
  best = {
    ...best,
    outcome: await runScenario(best.scenario, { excluded: best.excluded, traced: true, sabotage }),
  };
  return best;
};

/** Tries to remove each group of `size` consecutive faults. */
const excludeRuns = async (
  size: number,
  best: () => ShrunkRun,
  attempt: (scenario: Scenario, excluded: ReadonlySet<string>) => Promise<boolean>,
): Promise<void> => {
  for (let start = 0; start < best().outcome.world.faults.injected.length;) {
    const { scenario, excluded, outcome } = best();
    const names = outcome.world.faults.injected.slice(start, start + size).map(({ name }) => name);
    if (!(await attempt(scenario, new Set([...excluded, ...names])))) start += size;
  }
};

const without = <T>(items: readonly T[]): T[][] =>
  items.length < 2 ? [] : items.map((_, index) => items.filter((_item, other) => other !== index));

/** Ways to make a scenario smaller. */
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
  (scenario) => (scenario.machines === 1 ? [] : [{ ...scenario, machines: 1 }]),
  (scenario) => (scenario.skewMs === 0 ? [] : [{ ...scenario, skewMs: 0 }]),
  (scenario) =>
    scenario.messages.every(({ repeats }) => repeats.length === 0)
      ? []
      : [{ ...scenario, messages: scenario.messages.map((one) => ({ ...one, repeats: [] })) }],
];

const MAX_LINES = 60;

/** Describes a failing run: its findings, its faults and the trace of its subject. */
export const describeFailure = ({ scenario, outcome }: ShrunkRun): string[] => {
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
    `the last events of ${subject}:`,
    ...trace.slice(-MAX_LINES).map((line) => `  ${line}`),
  ];
};
