import { Console } from 'node:console';
import { writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { INTERRUPTED, untilInterrupted } from '../../cli/interruption.ts';
import { Problem } from '../../local/install/problem.mjs';
import { textOf } from './text.ts';

export type Bench<Figures> = {
  /** The npm script after `bench:`, and the file of the result. */
  name: string;
  /** Memory that it needs. @default 1 */
  gigabytes?: number;
  /** @throws Problem when something cannot be measured */
  measure: (length: 'full' | 'short', means: BenchMeans) => Promise<Figures>;
  /** What must not be, whatever the figures: the exit status is 1 then, and the result is not kept. @default nothing */
  faults?: (figures: Figures) => readonly string[];
  /** Where the result is kept. @default bench/results/<name>.json */
  keptIn?: URL | 'nowhere';
};

export type BenchMeans = {
  /** What it starts ends with it. */
  stack: AsyncDisposableStack;
  signal: AbortSignal;
  say: (line: string) => void;
};

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** The exit status: 0; 1 with a fault; 2 where nothing could be measured. */
export async function runBench<Figures extends object>(
  { name, gigabytes = 1, measure, faults = () => [], keptIn }: Bench<Figures>,
  args: readonly string[],
): Promise<number> {
  const request = requestOf(args);
  if (request === undefined) {
    say(usageOf(name));
    return 2;
  }
  const { json, short, dry } = request;
  return runCommand(async (signal) => {
    demandMachine(gigabytes);
    await using stack = new AsyncDisposableStack();
    const figures = await measure(short ? 'short' : 'full', { stack, signal, say });
    const result = { name, measuredAt: new Date().toISOString(), machine: machine(), ...figures };
    process.stdout.write(`${json ? JSON.stringify(result, shortened) : textOf(figures)}\n`);
    const found = faults(figures);
    found.forEach(say);
    if (found.length > 0) return 1;
    const file = keptIn ?? new URL(`../results/${name}.json`, import.meta.url);
    if (!short && !dry && file !== 'nowhere')
      await writeFile(file, `${JSON.stringify(result, shortened, 2)}\n`);
    return 0;
  });
}

/** Undefined: not to be understood. */
function requestOf(args: readonly string[]) {
  const flag = { type: 'boolean', default: false } as const;
  try {
    return parseArgs({ args: [...args], options: { json: flag, short: flag, dry: flag } }).values;
  } catch {
    // parseArgs throws for what it does not know; the usage line says what it does.
    return undefined;
  }
}

function usageOf(name: string): string {
  return [
    `usage: npm run bench:${name} -- [--json] [--short] [--dry]`,
    '  --short  says less, and is not kept as the result',
    '  --dry    is not kept as the result',
  ].join('\n');
}

/** The exit status of work that can be interrupted, or stopped by a Problem. Standard output is for its result alone. */
export async function runCommand(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  globalThis.console = new Console(process.stderr);
  try {
    return await untilInterrupted(work);
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') {
      say('Interrupted.');
      return INTERRUPTED;
    }
    if (!(error instanceof Problem)) throw error;
    say(error.message);
    return 2;
  }
}

/** The function's; one beside it for what it talks to, which would else be in its way. */
const PROCESSORS = 2;

const GIGABYTE = 2 ** 30;

/** @throws Problem on a machine whose figures would say nothing */
function demandMachine(gigabytes: number): void {
  if (!process.version.startsWith('v24.'))
    throw new Problem(`This is Node ${process.version}; functions run on Node 24. Start it by npm run.`);
  if (availableParallelism() < PROCESSORS)
    throw new Problem(`This needs ${PROCESSORS} processors to measure one.`);
  if (process.availableMemory() < gigabytes * GIGABYTE)
    throw new Problem(`This needs ${gigabytes} GB of memory that is not in use. Nothing was measured.`);
}

/** What a figure was measured on. */
function machine() {
  return {
    cpus: cpus().length,
    model: cpus()[0]?.model ?? 'unknown',
    node: process.version,
    memoryGigabytes: Math.round(totalmem() / GIGABYTE),
  };
}

/** No more digits than were measured. */
function shortened(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.round(value * 1000) / 1000 : value;
}
