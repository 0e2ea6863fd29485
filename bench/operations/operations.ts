import type { OperationTable } from '../../cli/commands/plan/tables.ts';
import { type Bench, runBench } from '../harness/command.ts';
import { checkPlan, type PlanCheck } from './check.ts';
import { measure } from './measure.ts';
import { startSystem } from './run.ts';

/** The cost of each step: the table of `posthaste plan`. */
const counting: Bench<Omit<OperationTable, 'measuredAt' | 'machine'>> = {
  name: 'operations',
  measure: async (_, { stack, signal, say }) => measure(await startSystem(stack, signal), say),
  keptIn: new URL('../../cli/commands/plan/operations.json', import.meta.url),
};

/** With `--check`: compares the plan with a mixed run, and keeps nothing. */
const checking: Bench<PlanCheck> = {
  name: 'operations',
  measure: async (_, { stack, signal, say }) => checkPlan(await startSystem(stack, signal), say),
  faults: ({ faults }) => faults,
  keptIn: 'nowhere',
};

const args = process.argv.slice(2);
const others = args.filter((arg) => arg !== '--check');
process.exitCode = await (others.length < args.length
  ? runBench(checking, others)
  : runBench(counting, others));
