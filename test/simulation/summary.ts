import { deliveryCases } from './invariants/delivery-case.ts';
import { duplicatesOf } from './invariants/duplicates.ts';
import type { Outcome } from './run-scenario.ts';

/** The totals of one or more runs. */
export type Summary = ReturnType<typeof summaryOf>;

/** By kind. */
type FaultCounts = Readonly<Record<string, number>>;

export const emptySummary = (): Summary => ({
  scenarios: 0,
  faults: {},
  attempts: 0,
  duplicates: 0,
  unexplainedDuplicates: 0,
  lost: 0,
  violations: 0,
});

export const summaryOf = ({ world, findings }: Outcome) => {
  const count = (kind: string): number => findings.filter((finding) => finding.kind === kind).length;
  return {
    scenarios: 1,
    faults: world.faults.injected.reduce<FaultCounts>((sum, { kind }) => addFaults(sum, { [kind]: 1 }), {}),
    /** Requests that reached a receiver. */
    attempts: world.history.requests.length,
    /** Requests without a numbered attempt, each explained by a fault. */
    duplicates: deliveryCases(world).reduce((sum, one) => sum + duplicatesOf(one).length, 0),
    unexplainedDuplicates: count('unexplained_duplicate'),
    lost: count('lost'),
    violations: count('violation'),
  };
};

const addFaults = (one: FaultCounts, other: FaultCounts): FaultCounts => ({
  ...one,
  ...Object.fromEntries(Object.entries(other).map(([kind, count]) => [kind, count + (one[kind] ?? 0)])),
});

export const addSummaries = (one: Summary, other: Summary): Summary => ({
  scenarios: one.scenarios + other.scenarios,
  faults: addFaults(one.faults, other.faults),
  attempts: one.attempts + other.attempts,
  duplicates: one.duplicates + other.duplicates,
  unexplainedDuplicates: one.unexplainedDuplicates + other.unexplainedDuplicates,
  lost: one.lost + other.lost,
  violations: one.violations + other.violations,
});

export const faultsIn = ({ faults }: Summary): number =>
  Object.values(faults).reduce((sum, count) => sum + count, 0);

export const isClean = ({ unexplainedDuplicates, lost, violations }: Summary): boolean =>
  unexplainedDuplicates + lost + violations === 0;
