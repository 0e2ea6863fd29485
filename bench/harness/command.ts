import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { INTERRUPTED, untilInterrupted } from '../../cli/interruption.ts';
import { Problem } from '../../local/install/problem.mjs';

export type Bench<Result> = {
  /** Of the npm script after `bench:`, and of the file with its result. */
  name: string;
  /** @throws Problem when something cannot be measured */
  measure: (length: 'full' | 'short', means: BenchMeans) => Promise<Result>;
  text: (result: Result) => string;
  /** What must not be, whatever the figures: the exit status is 1 then, and the result is not kept. @default nothing */
  faults?: (result: Result) => readonly string[];
};

export type BenchMeans = {
  /** What it starts ends with it. */
  stack: AsyncDisposableStack;
  signal: AbortSignal;
  say: (line: string) => void;
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** Undefined: not to be understood. */
const requestOf = (args: readonly string[]) => {
  try {
    const options = {
      json: { type: 'boolean', default: false },
      short: { type: 'boolean', default: false },
      dry: { type: 'boolean', default: false },
    } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch {
    // parseArgs throws for what it does not know; the usage line says what it does.
    return undefined;
  }
};

/** No more digits than were measured. */
const shortened = (_: string, value: unknown): unknown =>
  typeof value === 'number' ? Math.round(value * 1000) / 1000 : value;

const keep = async (name: string, result: object): Promise<void> => {
  const folder = new URL('../results/', import.meta.url);
  await mkdir(folder, { recursive: true });
  await writeFile(new URL(`${name}.json`, folder), `${JSON.stringify(result, shortened, 2)}\n`);
};

const usageOf = (name: string): string =>
  [
    `usage: npm run bench:${name} -- [--json] [--short] [--dry]`,
    '  --short  says less, and is not kept as the result',
    '  --dry    is not kept as the result',
  ].join('\n');

/** The exit status: 0; 1 with a fault; 2 where nothing could be measured. */
export const runBench = async <Result extends object>(
  { name, measure, text, faults = () => [] }: Bench<Result>,
  args: readonly string[],
): Promise<number> => {
  const request = requestOf(args);
  if (request === undefined) {
    say(usageOf(name));
    return 2;
  }
  const { json, short, dry } = request;
  try {
    return await untilInterrupted(async (signal) => {
      await using stack = new AsyncDisposableStack();
      const result = await measure(short ? 'short' : 'full', { stack, signal, say });
      const found = faults(result);
      if (!short && !dry && found.length === 0) await keep(name, result);
      process.stdout.write(`${json ? JSON.stringify(result, shortened) : text(result)}\n`);
      found.forEach(say);
      return found.length === 0 ? 0 : 1;
    });
  } catch (error) {
    if (error instanceof Error && error.name === 'AbortError') {
      say('Interrupted.');
      return INTERRUPTED;
    }
    if (!(error instanceof Problem)) throw error;
    say(error.message);
    return 2;
  }
};
