import { tableLines } from '../../cli/output/table.ts';
import { Problem } from '../../local/install/problem.mjs';
import type { BenchMeans } from '../harness/command.ts';
import type { Ratio } from '../harness/figures.ts';
import { demandMachine, machine, type Machine } from '../harness/machine.ts';
import { type CellFigures, figuresOf, p95ByBare, type Quantiles } from './figures.ts';
import { type By, cellsOf, isBy, thresholds } from './load.ts';
import { runLoad } from './run.ts';
import { pathOf, type Results, startSubscriber, startWorld, WARM_UP_PATH, type World } from './world.ts';
import { cpus } from 'node:os';

type LatenessResult = {
  name: 'lateness';
  measuredAt: string;
  machine: Machine;
  /** Seconds from the first message to the last retry. */
  seconds: number;
  /** `schedulerThreshold` of the deployments. */
  thresholds: typeof thresholds;
  /** Part of the machine's processor time that was in use meanwhile, by whomever. */
  busy: number;
  ratios: readonly Ratio[];
  cells: readonly CellFigures[];
};

const mechanisms: readonly By[] = ['sqs_delay', 'scheduler'];

const lengths = {
  full: { delays: [1, 5, 30, 60, 300], load: { count: 1_000, bareCount: 100, seconds: 600 } },
  short: { delays: [1, 5, 30], load: { count: 60, bareCount: 30, seconds: 45 } },
} as const;

/** Two local AWSs, each with some twenty processes of functions. */
const MEMORY_GIGABYTES = 4;

/**
 * Milliseconds. A bare function's retries by SQS come within some 100 of their time (p95) on a machine with nothing else to do.
 * Where they do not, nothing is measured but the wait for a processor.
 */
const MOST_BARE = 400;

/** Retries by Scheduler are mostly late by what SQS rounds, which is the same on any machine. */
const tolerances: Readonly<Record<By, number>> = { sqs_delay: 0.5, scheduler: 0.25 };

/** @throws Problem when something cannot be measured */
export const measureLateness = async (
  length: 'full' | 'short',
  { stack, signal, say }: BenchMeans,
): Promise<LatenessResult> => {
  demandMachine({ memoryGigabytes: MEMORY_GIGABYTES });
  const { delays, load } = lengths[length];
  const cells = mechanisms.flatMap((by) => cellsOf(by, delays));
  const subscriber = await startSubscriber(stack, [WARM_UP_PATH, ...cells.map(pathOf)]);
  const worlds: World[] = [];
  for (const by of mechanisms) {
    say(`Deploying with schedulerThreshold ${thresholds[by]}`);
    worlds.push(await startWorld(stack, { by, cells: cells.filter(isBy(by)), subscriber, signal }));
  }
  say(`Retrying ${load.count} messages by each mechanism after each delay, within ${load.seconds} s`);
  const busy = busyFromNow();
  const results = await runLoad(worlds, load, { signal, say });
  const result: LatenessResult = {
    name: 'lateness',
    measuredAt: new Date().toISOString(),
    machine: machine(),
    seconds: load.seconds,
    thresholds,
    busy: busy(),
    ratios: mechanisms.map((by) => ratioOf(by, results)),
    cells: cells.map((cell) => figuresOf(cell, load.count, results)),
  };
  demandIdle(result);
  return result;
};

/** A retry that is early or lost is that on any machine. @throws Problem where lateness says nothing of us */
const demandIdle = (result: LatenessResult): void => {
  const { cells, busy } = result;
  const worst = Math.max(...cells.filter(isBy('sqs_delay')).map(({ bare }) => bare.received.p95));
  if (worst <= MOST_BARE || faultsOf(result).length > 0) return;
  throw new Problem(
    `Even a bare function's retries came ${worst.toFixed(0)} ms late (p95), with the processors ${(100 * busy).toFixed(0)} % in use. Try again when less else is running.`,
  );
};

const ratioOf = (by: By, { retries, bare }: Results): Ratio => ({
  name: `p95 of the lateness of retries by ${by} by that of a bare function`,
  ratio: p95ByBare(
    retries.filter(({ cell }) => isBy(by)(cell)),
    bare.filter(({ cell }) => isBy(by)(cell)),
  ),
  tolerance: tolerances[by],
});

/** The promise of docs/guarantees.md, and that nothing is lost. */
export const faultsOf = ({ cells }: Pick<LatenessResult, 'cells'>): readonly string[] =>
  cells.flatMap(({ by, delaySeconds, early, undelivered }) => [
    ...(early > 0 ? [`${early} retries by ${by} after ${delaySeconds} s began before they were due.`] : []),
    ...(undelivered > 0
      ? [`${undelivered} retries by ${by} after ${delaySeconds} s were not delivered.`]
      : []),
  ]);

/** Answers, asked later, which part of all processors' time since then was in use. */
const busyFromNow = (): (() => number) => {
  const times = () => {
    const all = cpus().map((cpu) => cpu.times);
    const idle = all.reduce((total, time) => total + time.idle, 0);
    const used = all.reduce((total, { user, nice, sys, irq }) => total + user + nice + sys + irq, 0);
    return { idle, used };
  };
  const before = times();
  return () => {
    const after = times();
    const used = after.used - before.used;
    return used / (used + after.idle - before.idle);
  };
};

const words: Readonly<Record<By, string>> = { sqs_delay: 'SQS', scheduler: 'Scheduler' };

const quantiles = ({ p50, p95, p99 }: Quantiles): string[] =>
  [p50, p95, p99].map((milliseconds) => milliseconds.toFixed(0));

const right = (head: string) => ({ head, align: 'right' as const });

/** The result as a person reads it. */
export const resultText = ({ cells, ratios, seconds, busy }: LatenessResult): string =>
  [
    `From due to begun in ms, by the record; the bare function's from due to received. ${seconds} s, processors ${(100 * busy).toFixed(0)} % in use`,
    ...tableLines(
      [
        { head: 'by' },
        right('after s'),
        right('retries'),
        right('early'),
        right('p50'),
        right('p95'),
        right('p99'),
        right('most'),
        right('received p95'),
        right('bare p50'),
        right('bare p95'),
        right('bare p99'),
        { head: 'brought about by' },
      ],
      cells.map(({ by, delaySeconds, retries, early, late, received, bare, broughtBy }) => [
        words[by],
        String(delaySeconds),
        String(retries),
        String(early),
        ...quantiles(late),
        late.most.toFixed(0),
        received.p95.toFixed(0),
        ...quantiles(bare.received),
        Object.entries(broughtBy)
          .map(([mechanism, count]) => `${mechanism} ${count}`)
          .join(', '),
      ]),
    ),
    ...ratios.map(({ name, ratio }) => `${name}: ${ratio.toFixed(2)}`),
  ].join('\n');
