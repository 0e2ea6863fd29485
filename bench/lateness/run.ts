import { Problem } from '../../local/install/problem.mjs';
import { pollUntil } from '../../local/poll-until.ts';
import type { BenchMeans } from '../harness/command.ts';
import { releasesOf } from './load.ts';
import type { Results, World } from './world.ts';

export type Load = {
  /** Retries of each cell. */
  count: number;
  /** The same of the bare function. */
  bareCount: number;
  /** From the first message to the last retry. */
  seconds: number;
};

type Means = Pick<BenchMeans, 'signal' | 'say'>;

/** After the last retry was due: longer than reconcile needs to make up for a wake-up that never came. */
const PATIENCE_MS = 120_000;

/** From the subscriber's receipt to the record. */
const RECORDED_WITHIN_MS = 15_000;

const PROGRESS_MS = 60_000;

/**
 * Runs the load on all worlds at once, to its end.
 * @throws Problem when the bare function's retries did not come: there is nothing to compare with then
 */
export const runLoad = async (worlds: readonly World[], load: Load, means: Means): Promise<Results> => {
  const cells = worlds.reduce((total, world) => total + world.cells.length, 0);
  const expected = { ours: cells * load.count, bare: cells * load.bareCount };
  const all = expected.ours + expected.bare;
  const arrived = (): number => worlds.reduce((total, world) => total + world.arrived(), 0);
  const progress = setInterval(() => {
    means.say(`${arrived()} of ${all} retries came`);
  }, PROGRESS_MS);
  try {
    await sendAll(worlds, load, means.signal);
    await polled(PATIENCE_MS, means, () => Promise.resolve(arrived() >= all ? true : undefined));
  } finally {
    clearInterval(progress);
  }
  const results = await recorded(worlds, expected.ours, means);
  if (results.bare.length !== expected.bare)
    throw new Problem(`Of ${expected.bare} retries of the bare function ${results.bare.length} came.`);
  return results;
};

/** Side by side; when one cannot go on, neither do the others. */
const sendAll = async (
  worlds: readonly World[],
  { count, bareCount, seconds }: Load,
  signal: AbortSignal,
): Promise<void> => {
  const failed = new AbortController();
  const stopped = AbortSignal.any([signal, failed.signal]);
  const sending = worlds.flatMap(({ cells, release, releaseBare }) => [
    release(releasesOf(cells, { count, seconds }), stopped),
    releaseBare(releasesOf(cells, { count: bareCount, seconds }), stopped),
  ]);
  try {
    await Promise.all(sending);
  } catch (error) {
    failed.abort();
    await Promise.allSettled(sending);
    throw error;
  }
};

/** What is not on record by then is not in the results. */
const recorded = async (worlds: readonly World[], expected: number, means: Means): Promise<Results> => {
  let results: Results = { retries: [], bare: [] };
  await polled(RECORDED_WITHIN_MS, means, async () => {
    const found = await Promise.all(worlds.map((world) => world.results()));
    results = {
      retries: found.flatMap(({ retries }) => retries),
      bare: found.flatMap(({ bare }) => bare),
    };
    return results.retries.length >= expected ? true : undefined;
  });
  return results;
};

const polled = (withinMs: number, { signal }: Means, look: () => Promise<true | undefined>) =>
  pollUntil(look, { withinMs, interval: { floor: 1, ceiling: 4 }, signal });
