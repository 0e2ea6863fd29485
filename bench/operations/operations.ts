import { type OperationTable, stepNames, type Units } from '../../cli/commands/plan/tables.ts';
import { untilInterrupted } from '../../cli/interruption.ts';
import { type Column, tableLines } from '../../cli/output/table.ts';
import { Problem } from '../../local/install/problem.mjs';
import { checkPlan } from './check.ts';
import { measure } from './measure.ts';
import { startSystem } from './system.ts';
import { Console } from 'node:console';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const right = (head: string): Column => ({ head, align: 'right' });

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

/** What each step costs. */
const resultText = (table: OperationTable): string =>
  [
    'Each step by itself, as if each message to SQS had a request of its own:',
    '',
    ...tableLines(
      [{ head: 'Step' }, ...columns.map(([head]) => right(head))],
      stepNames.map((name) => [name, ...columns.map(([, of]) => of(table.steps[name]).toFixed(2))]),
    ),
    '',
    ...Object.entries(table.perInvocation).map(
      ([name, { memoryMegabytes, logBytes, cpuMs }]) =>
        `An invocation of ${name} (${memoryMegabytes} MB): ${cpuMs.toFixed(1)} ms of CPU, ${Math.round(logBytes)} bytes of log.`,
    ),
    `A delivery's item after each attempt: ${table.deliveryItemBytes.join(', ')} bytes.`,
  ].join('\n');

const USAGE =
  'usage: npm run bench:operations -- [--json] [--check]\n  --check  compare the plan with a mixed run that is not in the table, and leave the table alone';

const TABLE = fileURLToPath(new URL('../../cli/commands/plan/operations.json', import.meta.url));

type Request = { json: boolean; check: boolean };

/** Undefined: not to be understood. */
const requestOf = (args: readonly string[]): Request | undefined => {
  try {
    const options = {
      json: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
    } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch {
    // parseArgs throws for what it does not know; the usage line says what it does.
    return undefined;
  }
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The exit status: 0; 1 where the plan is too far off; 2 where nothing could be measured. */
const run = async ({ json, check }: Request): Promise<number> => {
  try {
    return await untilInterrupted(async (signal) => {
      await using stack = new AsyncDisposableStack();
      const system = await startSystem(stack, signal);
      if (check) {
        const comparison = await checkPlan(system, say);
        process.stdout.write(`${json ? JSON.stringify(comparison) : comparison.text}\n`);
        return comparison.ok ? 0 : 1;
      }
      const table = await measure(system, say);
      const source = JSON.stringify(table, shortened, 2);
      writeFileSync(TABLE, `${source}\n`);
      process.stdout.write(`${json ? JSON.stringify(table, shortened) : resultText(table)}\n`);
      return 0;
    });
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') {
      say('Interrupted.');
      return 130;
    }
    if (!(error instanceof Problem)) throw error;
    say(error.message);
    return 2;
  }
};

/** No more digits than were measured. */
const shortened = (_: string, value: unknown): unknown =>
  typeof value === 'number' ? Math.round(value * 1000) / 1000 : value;

const request = requestOf(process.argv.slice(2));
if (request === undefined) {
  say(USAGE);
  process.exitCode = 2;
} else {
  // How the start comes along is no result: standard output is for that alone.
  globalThis.console = new Console(process.stderr);
  process.exitCode = await run(request);
}
