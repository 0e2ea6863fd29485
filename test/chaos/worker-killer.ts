import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import type { Chance } from '../simulation/chance.ts';
import type { FaultTally } from './fault-tally.ts';

/**
 * Milliseconds between two kills. The emulator takes the death of one worker for that of all workers of the function, and
 * a new one needs a second or two on a busy machine: more often, and nothing would ever be finished.
 */
const INTERVAL = { least: 2_000, most: 5_000 };

type Process = { pid: number; parent: number; command: string };

/**
 * Kills one worker of the functions after the other, until told to stop. Only processes that descend from this one and
 * run the emulator's worker script in `folder`, which is this run's own, are ever touched.
 */
export const killWorkers = async (
  folder: string,
  chance: Chance,
  tally: FaultTally,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    const workers = workersAmong(await processes(), folder);
    if (workers.length > 0 && isKilled(chance.pick(workers))) tally.count('worker_killed');
    await pause(chance.int(INTERVAL.least, INTERVAL.most), undefined, { signal }).catch(() => undefined);
  }
};

const processes = async (): Promise<Process[]> => {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-ww', '-o', 'pid=,ppid=,args=']);
  return stdout.split('\n').flatMap((line) => {
    const [, pid, parent, command] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return command === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), command }];
  });
};

const workersAmong = (all: readonly Process[], folder: string): number[] => {
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === process.pid || isOurs(parent));
  };
  return all
    .filter(({ command }) => command.includes(`${folder}/tmp/`) && command.endsWith('/_worker.js'))
    .map(({ pid }) => pid)
    .filter(isOurs);
};

/** False: it had ended meanwhile. */
const isKilled = (pid: number): boolean => {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
};
