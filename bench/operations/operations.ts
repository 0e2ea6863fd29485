import { type OperationTable, stepNames, type Units } from '../../cli/commands/plan/tables.ts';
import { type Bench, runBench, type Table } from '../harness/command.ts';
import { checkPlan, type PlanCheck } from './check.ts';
import { measure } from './measure.ts';
import { startSystem } from './system.ts';

type Counted = Omit<OperationTable, 'measuredAt' | 'machine'>;

const columns: readonly (readonly [head: string, of: (units: Units) => number])[] = [
  ['Item writes', ({ deliveryWrites = 0, messageWrites = 0 }) => deliveryWrites + messageWrites],
  ['Other WRU', ({ otherWriteUnits = 0, indexWriteUnits = 0 }) => otherWriteUnits + indexWriteUnits],
  ['RRU', ({ otherReadUnits = 0, messageReads = 0 }) => otherReadUnits + messageReads],
  ['SQS sends', ({ sendRequests = 0 }) => sendRequests],
  ['Schedules', ({ schedules = 0 }) => schedules],
  ['S3', ({ s3Puts = 0, s3Gets = 0 }) => s3Puts + s3Gets],
  ['Calls', ({ awsCalls = 0 }) => awsCalls],
  ['Log bytes', ({ logBytes = 0 }) => logBytes],
  ['CPU ms', ({ cpuMs = 0 }) => cpuMs],
];

/** What each step costs: the table that `posthaste plan` reckons by. */
const counting: Bench<Counted> = {
  name: 'operations',
  measure: async (_, { stack, signal, say }) => measure(await startSystem(stack, signal), say),
  tables: ({ steps, perInvocation }): Table[] => [
    {
      title: 'Each step by itself, as if each message to SQS had a request of its own',
      rows: stepNames.map((step) => ({
        step,
        ...Object.fromEntries(columns.map(([head, of]) => [head, of(steps[step])])),
      })),
    },
    {
      title: 'An invocation by itself',
      rows: Object.entries(perInvocation).map(([name, { memoryMegabytes, logBytes, cpuMs }]) => ({
        function: name,
        MB: memoryMegabytes,
        'log bytes': Math.round(logBytes),
        'CPU ms': cpuMs,
      })),
    },
  ],
  keptIn: new URL('../../cli/commands/plan/operations.json', import.meta.url),
};

/** With `--check`: compares the plan with a mixed run that is not in the table, and leaves the table alone. */
const checking: Bench<PlanCheck> = {
  name: 'operations',
  measure: async (_, { stack, signal, say }) => checkPlan(await startSystem(stack, signal), say),
  tables: ({ circumstances, lines }): Table[] => [
    { title: 'The mixed run', rows: [circumstances] },
    { title: 'The plan, beside what was counted', rows: lines },
  ],
  faults: ({ faults }) => faults,
  keptIn: 'nowhere',
};

const args = process.argv.slice(2);
const others = args.filter((arg) => arg !== '--check');
process.exitCode = await (others.length < args.length
  ? runBench(checking, others)
  : runBench(counting, others));
