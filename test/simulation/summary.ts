import { deliveryCases } from './invariants/delivery-case.ts';
import { duplicatesOf } from './invariants/duplicates.ts';
import type { FaultKind } from './faults.ts';
import type { Outcome } from './run-scenario.ts';

/** The totals of one or more runs. */
export type Summary = {
  scenarios: number;
  faults: Partial<Record<FaultKind, number>>;
  /** Requests that reached a receiver. */
  attempts: number;
  /** Requests without a numbered attempt, each explained by a fault. */
  duplicates: number;
  unexplainedDuplicates: number;
  lost: number;
  violations: number;
};

export const emptySummary = (): Summary => ({
  scenarios: 0,
  faults: {},
  attempts: 0,
  duplicates: 0,
  unexplainedDuplicates: 0,
  lost: 0,
  violations: 0,
});

export const summaryOf = ({ world, findings }: Outcome): Summary => {
  const faults: Summary['faults'] = {};
  for (const { kind } of world.faults.injected) faults[kind] = (faults[kind] ?? 0) + 1;
  const count = (kind: string): number => findings.filter((finding) => finding.kind === kind).length;
  return {
    scenarios: 1,
    faults,
    attempts: world.history.requests.length,
    duplicates: deliveryCases(world).reduce((sum, one) => sum + duplicatesOf(one).length, 0),
    unexplainedDuplicates: count('unexplained_duplicate'),
    lost: count('lost'),
    violations: count('violation'),
  };
};

export const addSummaries = (one: Summary, other: Summary): Summary => {
  const faults = { ...one.faults };
  for (const kind of kindsOf(other)) faults[kind] = (faults[kind] ?? 0) + (other.faults[kind] ?? 0);
  return {
    scenarios: one.scenarios + other.scenarios,
    faults,
    attempts: one.attempts + other.attempts,
    duplicates: one.duplicates + other.duplicates,
    unexplainedDuplicates: one.unexplainedDuplicates + other.unexplainedDuplicates,
    lost: one.lost + other.lost,
    violations: one.violations + other.violations,
  };
};

const FAULT_KINDS: Record<FaultKind, true> = {
  failed_before: true,
  failed_after: true,
  slow: true,
  throttled: true,
  killed_before: true,
  killed_after: true,
  sent_in_part: true,
  duplicated: true,
  delayed: true,
  lost: true,
  received_twice: true,
  acknowledgement_lost: true,
  short_of_time: true,
  schedule_late: true,
  index_behind: true,
};

const isFaultKind = (name: string): name is FaultKind => Object.hasOwn(FAULT_KINDS, name);

const kindsOf = ({ faults }: Summary): FaultKind[] => Object.keys(faults).filter(isFaultKind);

export const faultsIn = (summary: Summary): number =>
  kindsOf(summary).reduce((sum, kind) => sum + (summary.faults[kind] ?? 0), 0);

export const isClean = ({ unexplainedDuplicates, lost, violations }: Summary): boolean =>
  unexplainedDuplicates + lost + violations === 0;
