import { setTimeout as pause } from 'node:timers/promises';
import type { Chance } from '../support/chance.ts';
import { isKilled, isWorkerIn, processes, type Process } from '../support/processes.ts';
import type { FaultLog } from './fault-log.ts';

/**
 * Milliseconds between two kills. The emulator takes the death of one worker for that of all workers of the function, and
 * a new one needs a second or two on a busy machine: more often, and nothing would ever be finished.
 */
const INTERVAL = { least: 2_000, most: 5_000 };

/**
 * Kills one worker of the functions after the other, until told to stop. Only processes that descend from this one and
 * run the emulator's worker script in `folder`, which is this run's own, are ever touched.
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
