import { Problem } from '../../local/install/problem.mjs';
import { pollUntil } from '../../local/poll-until.ts';
import { type BenchMeans, type Length, runBench } from '../harness/command.ts';
import { type Ratio, sumOf } from '../harness/figures.ts';
import {
  type By,
  type CellFigures,
  cellsOf,
  faultsOf,
  figuresOf,
  p95ByBare,
  type Results,
  thresholds,
} from './bare-retries.ts';
import { startSubscriber, startWorld, type World } from './world.ts';

type Figures = {
  /** From the first message to the last retry. */
  seconds: number;
  /** `schedulerThreshold` of the deployments. */
  thresholds: typeof thresholds;
  ratios: readonly Ratio[];
  cells: readonly CellFigures[];
};

const mechanisms: readonly By[] = ['sqs_delay', 'scheduler'];

/** `count` retries of each cell, and `bareCount` of the bare function. */
const lengths = {
  full: { delays: [1, 5, 30, 60, 300], load: { count: 1_000, bareCount: 100, seconds: 600 } },
  short: { delays: [1, 5, 30], load: { count: 60, bareCount: 30, seconds: 45 } },
};

type Load = (typeof lengths)['full']['load'];

/** For two local AWSs with some twenty function processes each. */
const gigabytes = 4;

/** Rounding by SQS, the same on any machine, is most of the lateness by Scheduler. */
const tolerances: Readonly<Record<By, number>> = { sqs_delay: 0.5, scheduler: 0.25 };

async function measure(length: Length, means: BenchMeans): Promise<Figures> {
  const { stack, signal, say } = means;
  const { delays, load } = lengths[length];
  const cells = mechanisms.flatMap((by) => cellsOf(by, delays));
  const subscriber = await startSubscriber(stack, cells);
  const worlds: World[] = [];
  for (const by of mechanisms) {
    say(`Deploying with schedulerThreshold ${thresholds[by]}`);
    worlds.push(await startWorld(stack, { by, cells: cellsOf(by, delays), subscriber, signal }));
  }
  say(`Retrying ${load.count} messages by each mechanism after each delay, within ${load.seconds} s`);
  const results = await runLoad(worlds, load, means);
  const figures = {
    seconds: load.seconds,
    thresholds,
    ratios: mechanisms.map((by) => ({
      name: `p95 of the lateness of retries by ${by} by that of a bare function`,
      ratio: p95ByBare(by, results),
      tolerance: tolerances[by],
    })),
    cells: cells.map((cell) => figuresOf(cell, load.count, results)),
  };
  demandIdleMachine(figures);
  return figures;
}

/** After the last retry was due: reconcile wakes it within this time if its wake-up was lost. */
const PATIENCE_MS = 120_000;

/** From the request to the record. */
const RECORDED_WITHIN_MS = 15_000;

const PROGRESS_MS = 60_000;

/** @throws Problem when retries of the bare function are missing */
async function runLoad(worlds: readonly World[], load: Load, { signal, say }: BenchMeans): Promise<Results> {
  const cells = sumOf(worlds, (world) => world.cells.length);
  const [expected, expectedBare] = [cells * load.count, cells * load.bareCount];
  const arrived = (): number => sumOf(worlds, (world) => world.arrived());
  const polled = (withinMs: number, isDone: () => Promise<boolean>) => {
    const look = async () => (await isDone()) || undefined;
    return pollUntil(look, { withinMs, interval: { floor: 1, ceiling: 4 }, signal });
  };
  const progress = setInterval(() => {
    say(`${arrived()} of ${expected + expectedBare} retries came`);
  }, PROGRESS_MS);
  try {
    await Promise.all(worlds.map((world) => world.release(load)));
    await polled(PATIENCE_MS, () => Promise.resolve(arrived() >= expected + expectedBare));
  } finally {
    clearInterval(progress);
  }
  let results: Results = { retries: [], bare: [] };
  await polled(RECORDED_WITHIN_MS, async () => {
    const found = await Promise.all(worlds.map((world) => world.results()));
    results = { retries: found.flatMap(({ retries }) => retries), bare: found.flatMap(({ bare }) => bare) };
    return results.retries.length >= expected;
  });
  if (results.bare.length !== expectedBare)
    throw new Problem(`Of ${expectedBare} retries of the bare function ${results.bare.length} came.`);
  return results;
}

/** Milliseconds: the p95 of the bare function by SQS is about 100 on an idle machine. */
const MAX_BARE = 400;

/** @throws Problem where the figures show how busy the machine is, unless retries were early or lost */
function demandIdleMachine({ cells }: Figures): void {
  const worst = Math.max(...cells.filter(({ by }) => by === 'sqs_delay').map(({ bare }) => bare.p95));
  if (worst <= MAX_BARE || faultsOf({ cells }).length > 0) return;
  throw new Problem(
    `Retries of the bare function came ${worst.toFixed(0)} ms late (p95). Try again when less else is running.`,
  );
}

process.exitCode = await runBench(
  { name: 'lateness', gigabytes, measure, faults: faultsOf },
  process.argv.slice(2),
);
