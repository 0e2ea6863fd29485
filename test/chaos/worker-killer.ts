import { setTimeout as pause } from 'node:timers/promises';
import type { Chance } from '../support/chance.ts';
import { isKilled, isWorkerIn, processes, type Process } from '../support/processes.ts';
import type { FaultLog } from './fault-log.ts';

/**
 * Milliseconds between two kills. After a crash the emulator replaces all workers of the function, which takes a
 * second or two on a busy machine. With more frequent kills no delivery would finish.
 */
const INTERVAL = { least: 2_000, most: 5_000 };

/**
 * Kills a random worker of the functions at random intervals until `signal` aborts. Only descendants of this process
 * that run the emulator's worker script in `folder`, the folder of this run, are killed.
 */
export const killWorkers = async (
  folder: string,
  chance: Chance,
  faults: FaultLog,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    const workers = workersAmong(await processes(), folder);
    if (workers.length > 0 && isKilled(chance.pick(workers))) {
      faults.count('worker_killed');
      faults.killed();
    }
    await pause(chance.int(INTERVAL.least, INTERVAL.most), undefined, { signal }).catch(() => undefined);
  }
};

const workersAmong = (all: readonly Process[], folder: string): number[] => {
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === process.pid || isOurs(parent));
  };
  return all
    .filter((one) => isWorkerIn(folder, one))
    .map(({ pid }) => pid)
    .filter(isOurs);
};
