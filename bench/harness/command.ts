import { Console } from 'node:console';
import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { Problem } from '../../local/install/problem.mjs';
import { runInterruptible } from '../../test/support/interruptible.ts';

export type Length = 'full' | 'short';

export type Bench<Figures> = {
  /** The npm script after `bench:`, and the file of the result. */
  name: string;
  /** Free memory that it needs. @default 1 */
  gigabytes?: number;
  /** @throws Problem when something cannot be measured */
  measure: (length: Length, means: BenchMeans) => Promise<Figures>;
  /** Defects that the figures show. With any of them the exit status is 1 and the result is not kept. @default none */
  faults?: (figures: Figures) => readonly string[];
  /** @default bench/results/<name>.json */
  keptIn?: URL | 'nowhere';
};

export type BenchMeans = {
  /** Ends what the bench starts. */
  stack: AsyncDisposableStack;
  signal: AbortSignal;
  say: (line: string) => void;
};

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Returns the exit status: 0; 1 with a fault; 2 where nothing could be measured. */
export async function runBench<Figures extends object>(
  { name, gigabytes = 1, measure, faults = () => [], keptIn }: Bench<Figures>,
  args: readonly string[],
): Promise<number> {
  return runCommand(async (signal) => {
    const { json, short, dry } = requestOf(name, args);
    demandMachine(gigabytes);
    await using stack = new AsyncDisposableStack();
    const figures = await measure(short ? 'short' : 'full', { stack, signal, say });
    const result = { name, measuredAt: new Date().toISOString(), machine: machine(), ...figures };
    if (json) process.stdout.write(`${JSON.stringify(result, rounded)}\n`);
    else print(figures);
    const found = faults(figures);
    found.forEach(say);
    if (found.length > 0) return 1;
    const file = keptIn ?? new URL(`../results/${name}.json`, import.meta.url);
    if (!short && !dry && file !== 'nowhere')
      await writeFile(file, `${JSON.stringify(result, rounded, 2)}\n`);
    return 0;
  });
}

/** @throws Problem with the usage */
function requestOf(name: string, args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const;
  try {
    return parseArgs({ args: [...args], options: { json: flag, short: flag, dry: flag } }).values;
  } catch {
    throw new Problem(
      [
        `usage: npm run bench:${name} -- [--json] [--short] [--dry]`,
        '  --short  measures less, and does not keep the result',
        '  --dry    does not keep the result',
      ].join('\n'),
    );
  }
}

/** Runs work that an interrupt or a Problem can end, and returns the exit status. Standard output is for the result alone. */
export async function runCommand(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  globalThis.console = new Console(process.stderr);
  return runInterruptible(work, { failed: 2, say });
}

/** One for the function, one for its stubs. */
const PROCESSORS = 2;

const GIGABYTE = 2 ** 30;

/** @throws Problem on a machine with too little for the figures to mean anything */
function demandMachine(gigabytes: number): void {
  if (!process.version.startsWith('v24.'))
    throw new Problem(`This is Node ${process.version}; functions run on Node 24. Start it with npm run.`);
  if (availableParallelism() < PROCESSORS) throw new Problem(`This needs ${PROCESSORS} processors.`);
  if (process.availableMemory() < gigabytes * GIGABYTE)
    throw new Problem(`This needs ${gigabytes} GB of free memory.`);
}

function machine() {
  return {
    cpus: cpus().length,
    model: cpus()[0]?.model ?? 'unknown',
    node: process.version,
    memoryGigabytes: Math.round(totalmem() / GIGABYTE),
  };
}

/** Three decimals. */
function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 1000) / 1000 : value;
}

/** Prints lists and records as tables with a column for each value, and other figures as lines. */
export function print(figures: object): void {
  const output = new Console(process.stdout);
  for (const [name, value] of Object.entries(figures)) {
    if (!isObject(value)) output.log(`${name}: ${String(rounded(name, value))}`);
    else {
      output.log(`\n${name}`);
      output.table(Array.isArray(value) ? value.map((row) => cellsOf(row)) : mapped(value));
    }
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function mapped(value: object): object {
  return Object.fromEntries(Object.entries(value).map(([key, row]) => [key, cellsOf(row)]));
}

/** Values by the path to them. */
function cellsOf(value: unknown, path = 'value'): object {
  if (!isObject(value)) return { [path]: rounded(path, value) };
  const prefix = path === 'value' ? '' : `${path} `;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, part]) => Object.entries(cellsOf(part, `${prefix}${name}`))),
  );
}
