import { Problem } from '../../local/install/problem.mjs';
import { pollUntil } from '../../local/poll-until.ts';
import { type BenchMeans, runBench } from '../harness/command.ts';
import { type Ratio, sumOf } from '../harness/figures.ts';
import { type CellFigures, faultsOf, figuresOf, p95ByBare, type Results } from './figures.ts';
import { type By, cellsOf, releasesOf, thresholds } from './load.ts';
import { startSubscriber, startWorld, type World } from './world.ts';

type Figures = {
  /** Seconds from the first message to the last retry. */
  seconds: number;
  /** `schedulerThreshold` of the deployments. */
  thresholds: typeof thresholds;
  ratios: readonly Ratio[];
  cells: readonly CellFigures[];
};

const mechanisms: readonly By[] = ['sqs_delay', 'scheduler'];

/** Of each cell `count` retries, and `bareCount` of the bare function. */
type Load = { count: number; bareCount: number; seconds: number };

const lengths = {
  full: { delays: [1, 5, 30, 60, 300], load: { count: 1_000, bareCount: 100, seconds: 600 } },
  short: { delays: [1, 5, 30], load: { count: 60, bareCount: 30, seconds: 45 } },
} as const;

/** Two local AWSs, each with some twenty processes of functions. */
const gigabytes = 4;

/** Retries by Scheduler are mostly late by what SQS rounds, which is the same on any machine. */
const tolerances: Readonly<Record<By, number>> = { sqs_delay: 0.5, scheduler: 0.25 };

async function measureLateness(length: 'full' | 'short', means: BenchMeans): Promise<Figures> {
  const { stack, signal, say } = means;
  const { delays, load } = lengths[length];
  const cells = mechanisms.flatMap((by) => cellsOf(by, delays));
  const subscriber = await startSubscriber(stack, cells);
  const worlds: World[] = [];
  for (const by of mechanisms) {
    say(`Deploying with schedulerThreshold ${thresholds[by]}`);
    const own = cells.filter((cell) => cell.by === by);
    worlds.push(await startWorld(stack, { by, cells: own, subscriber, signal }));
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
  demandIdle(figures);
  return figures;
}

/** After the last retry was due: longer than reconcile needs to make up for a wake-up that never came. */
const PATIENCE_MS = 120_000;

/** From the subscriber's receipt to the record. */
const RECORDED_WITHIN_MS = 15_000;

const PROGRESS_MS = 60_000;

/**
 * Runs the load on all worlds at once, to its end.
 * @throws Problem when the bare function's retries did not come: there is nothing to compare with then
 */
async function runLoad(worlds: readonly World[], load: Load, { signal, say }: BenchMeans): Promise<Results> {
  const { count, bareCount, seconds } = load;
  const cells = sumOf(worlds, (world) => world.cells.length);
  const [expected, expectedBare] = [cells * count, cells * bareCount];
  const arrived = (): number => sumOf(worlds, (world) => world.arrived());
  const polled = (withinMs: number, isDone: () => Promise<boolean>) => {
    const look = async () => ((await isDone()) ? true : undefined);
    return pollUntil(look, { withinMs, interval: { floor: 1, ceiling: 4 }, signal });
  };
  const progress = setInterval(() => {
    say(`${arrived()} of ${expected + expectedBare} retries came`);
  }, PROGRESS_MS);
  try {
    await Promise.all(
      worlds.map((world) =>
        world.release(
          releasesOf(world.cells, { count, seconds }),
          releasesOf(world.cells, { count: bareCount, seconds }),
          signal,
        ),
      ),
    );
    await polled(PATIENCE_MS, () => Promise.resolve(arrived() >= expected + expectedBare));
  } finally {
    clearInterval(progress);
  }
  let [retries, bare]: [Results['retries'], Results['bare']] = [[], []];
  // What is not on record by then is not in the results.
  await polled(RECORDED_WITHIN_MS, async () => {
    const found = await Promise.all(worlds.map((world) => world.results()));
    retries = found.flatMap((results) => results.retries);
    bare = found.flatMap((results) => results.bare);
    return retries.length >= expected;
  });
  if (bare.length !== expectedBare)
    throw new Problem(`Of ${expectedBare} retries of the bare function ${bare.length} came.`);
  return { retries, bare };
}

/**
 * Milliseconds. A bare function's retries by SQS come within some 100 of their time (p95) on a machine with nothing else to do.
 * Where they do not, nothing is measured but the wait for a processor.
 */
const MOST_BARE = 400;

/** A retry that is early or lost is that on any machine. @throws Problem where lateness says nothing of us */
function demandIdle({ cells }: Figures): void {
  const worst = Math.max(...cells.filter(({ by }) => by === 'sqs_delay').map(({ bare }) => bare.p95));
  if (worst <= MOST_BARE || faultsOf({ cells }).length > 0) return;
  throw new Problem(
    `Even a bare function's retries came ${worst.toFixed(0)} ms late (p95). Try again when less else is running.`,
  );
}

process.exitCode = await runBench(
  { name: 'lateness', gigabytes, measure: measureLateness, faults: faultsOf },
  process.argv.slice(2),
);
