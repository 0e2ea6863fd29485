import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as z from 'zod';
import { wholeNumber } from '../support/whole-number.ts';
import type { Target } from './target.ts';
import { targets } from './targets.ts';

const USAGE = 'usage: npm run fuzz -- [--seed N] [--minutes M] [--target NAME]';

/** Inputs of a target in one round, times its weight. */
const INPUTS = 200;

/** The most that the memory of the process may grow after the first round, in megabytes. */
const MOST_GROWTH = 30;

type FuzzRequest = { seed: number; minutes: number; chosen: readonly Target[] };

const readArguments = (): FuzzRequest | undefined => {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      minutes: { type: 'string', default: '1' },
      target: { type: 'string' },
    },
  });
  const seed = wholeNumber(values.seed, 0, 0x7fffffff);
  const minutes = wholeNumber(values.minutes, 1, 600);
  const chosen = targets.filter(({ name }) => values.target === undefined || name === values.target);
  return seed === undefined || minutes === undefined || chosen.length === 0
    ? undefined
    : { seed, minutes, chosen };
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);

setFlagsFromString('--expose-gc');
const { gc: collectGarbage } = z.object({ gc: z.function() }).parse({ gc: runInNewContext('gc') as unknown });

/** What stays in memory. */
const megabytes = (): number => {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return Math.round((heapUsed + arrayBuffers) / 2 ** 20);
};

/** One round of all targets. False: one failed. */
const runRound = async (
  chosen: readonly Target[],
  seed: number,
  counts: Map<string, number>,
): Promise<boolean> => {
  for (const { name, weight, run } of chosen) {
    const { failed, input, error } = await run({ seed, runs: INPUTS * weight });
    counts.set(name, (counts.get(name) ?? 0) + INPUTS * weight);
    if (!failed) continue;
    say(`${name}: ${error instanceof Error ? String(error.stack) : String(error)}`);
    say(JSON.stringify(input).slice(0, 2_000));
    say(`Repeat it: npm run fuzz -- --seed ${seed} --target '${name}'`);
    return false;
  }
  return true;
};

/** Round after round, each with the next seed, until the time is up or a target fails. Returns the exit status. */
const fuzz = async ({ seed, minutes, chosen }: FuzzRequest): Promise<number> => {
  const end = Date.now() + minutes * 60_000;
  const counts = new Map<string, number>();
  let before = 0;
  for (let round = seed; Date.now() < end; round += 1) {
    if (!(await runRound(chosen, round, counts))) return 1;
    if (before === 0) before = megabytes();
    if (process.stderr.isTTY) process.stderr.write(`\rround ${round - seed + 1}, ${megabytes()} MB `);
  }
  for (const [name, count] of counts) say(`${name.padEnd(24)} ${count} inputs`);
  const grown = megabytes() - before;
  say(`seed ${seed}, ${minutes} min, memory grew by ${grown} of at most ${MOST_GROWTH} MB`);
  return grown > MOST_GROWTH ? 1 : 0;
};

const request = readArguments();
if (request === undefined) {
  say(`${USAGE}; targets: ${targets.map(({ name }) => `'${name}'`).join(', ')}`);
  process.exitCode = 2;
} else process.exitCode = await fuzz(request);
