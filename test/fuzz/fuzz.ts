import { inspect, parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as z from 'zod';
import { wholeNumber } from '../support/whole-number.ts';
import type { Target } from './target.ts';
import { deployedTargets } from './deployed.ts';
import { startFuzzedAws } from './fuzzed-aws.ts';
import { targets } from './targets.ts';

const USAGE = 'usage: npm run fuzz -- [--seed N] [--minutes M] [--target NAME]';

/** Inputs of a target in one round, times its weight. */
const INPUTS = 200;

/** The most that the memory of the process may grow after the first round, in megabytes. */
const MAX_GROWTH = 30;

/** `target`: a part of the names of the targets to run. */
type FuzzRequest = { seed: number; minutes: number; target: string };

const allNames = (): string[] => [...targets, ...deployedTargets].map(({ name }) => name);

const readArguments = (): FuzzRequest | undefined => {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      minutes: { type: 'string', default: '1' },
      target: { type: 'string', default: '' },
    },
  });
  const { target } = values;
  const seed = wholeNumber(values.seed, 0, 0x7fffffff);
  const minutes = wholeNumber(values.minutes, 1, 600);
  return seed === undefined || minutes === undefined || !allNames().some((name) => name.includes(target))
    ? undefined
    : { seed, minutes, target };
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

type Counts = { accepted: number; refused: number; found: number; seconds: number };

/** Runs a target once, and reports what it found. */
const runTarget = async ({ name, weight, run }: Target, seed: number, counts: Counts): Promise<void> => {
  if (process.stderr.isTTY) process.stderr.write(`\rseed ${seed}: ${name.padEnd(30)}`);
  const startedAt = performance.now();
  const { accepted, refused, failed, input, error } = await run({ seed, runs: Math.ceil(INPUTS * weight) });
  counts.accepted += accepted;
  counts.refused += refused;
  counts.seconds += (performance.now() - startedAt) / 1_000;
  if (!failed) return;
  counts.found += 1;
  say(`${name}: ${error instanceof Error ? String(error.stack) : String(error)}`);
  say(inspect(input).slice(0, 2_000));
  say(`Repeat it: npm run fuzz -- --seed ${seed} --target '${name}'`);
};

/** Round after round, each with the next seed, until the time is up. Returns the exit status. */
const fuzz = async ({ seed, minutes }: FuzzRequest, chosen: readonly Target[]): Promise<number> => {
  const end = Date.now() + minutes * 60_000;
  const counts = new Map(
    chosen.map((one) => [one, { accepted: 0, refused: 0, found: 0, seconds: 0 } satisfies Counts]),
  );
  const faultless = (): [Target, Counts][] => [...counts].filter(([, { found }]) => found === 0);
  let before = 0;
  for (let round = seed; Date.now() < end && faultless().length > 0; round += 1) {
    for (const [one, count] of faultless()) await runTarget(one, round, count);
    if (before === 0) before = megabytes();
  }
  sayCounts(counts);
  const grown = megabytes() - before;
  say(`seed ${seed}, ${minutes} min, memory grew by ${grown} of at most ${MAX_GROWTH} MB`);
  return grown > MAX_GROWTH || faultless().length < chosen.length ? 1 : 0;
};

const sayCounts = (counts: ReadonlyMap<Target, Counts>): void => {
  const row = (...cells: (string | number)[]): void => {
    say(cells.map((cell, at) => (at === 0 ? String(cell).padEnd(26) : String(cell).padStart(9))).join(''));
  };
  row('target', 'inputs', 'accepted', 'refused', 'found', 'seconds');
  for (const [{ name }, { accepted, refused, found, seconds }] of counts)
    row(name, accepted + refused + found, accepted, refused, found, Math.round(seconds));
};

const main = async (request: FuzzRequest): Promise<number> => {
  const isChosen = ({ name }: { name: string }): boolean => name.includes(request.target);
  const chosen = targets.filter(isChosen);
  const deployed = deployedTargets.filter(isChosen);
  if (deployed.length === 0) return fuzz(request, chosen);
  await using aws = await startFuzzedAws();
  return await fuzz(request, [...chosen, ...deployed.map(({ on }) => on(aws))]);
};

const request = readArguments();
if (request === undefined) {
  say(`${USAGE}; targets: ${allNames().join(', ')}`);
  process.exitCode = 2;
} else process.exitCode = await main(request);
