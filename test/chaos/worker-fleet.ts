import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import type { Endpoints } from '../../local/endpoints.ts';
import { projectRoot } from '../../local/install/paths.mjs';
import { awsEnvironment, plainEnvironment } from '../../local/local-aws.ts';
import type { Chance } from '../support/chance.ts';
import { isKilled, isWorkerIn, type Process, processes } from '../support/processes.ts';
import type { FaultLog } from './fault-proxy.ts';

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

/** Milliseconds between two stops: a worker starts in about a second on a busy machine. */
const FLEET_INTERVAL = { least: 3_000, most: 8_000 };

const variables = z.record(z.string(), z.string());

/** Workers beside the functions, which call AWS through `proxy`. Their output is in `folder`. */
export const startFleet = (
  count: number,
  { endpoints, proxy, folder }: { endpoints: Endpoints; proxy: string; folder: string },
) => {
  const deployed = variables.parse(JSON.parse(endpoints.workerEnvironment ?? '{}'));
  const text = JSON.stringify(deployed).replaceAll(endpoints.endpoint, proxy);
  const env = {
    ...plainEnvironment(),
    ...variables.parse(JSON.parse(text)),
    ...awsEnvironment(proxy, endpoints),
  };
  const log = openSync(join(folder, 'workers.log'), 'a');
  const start = (): ChildProcess =>
    spawn(process.execPath, [join(projectRoot, 'cli/posthaste.mjs'), 'worker', '--ceiling', '1'], {
      env,
      stdio: ['ignore', log, log],
    });
  const workers = Array.from({ length: count }, start);
  return {
    /** Ends a worker at a time until `signal` aborts: SIGKILL or SIGTERM. Another starts in its place. */
    disturb: async (chance: Chance, faults: FaultLog, signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        await pause(chance.int(FLEET_INTERVAL.least, FLEET_INTERVAL.most), undefined, { signal }).catch(
          () => undefined,
        );
        const place = chance.int(0, count - 1);
        const kind = chance.pick(['SIGKILL', 'SIGTERM'] as const);
        workers[place]?.kill(kind);
        faults.count(kind === 'SIGKILL' ? 'fleet_killed' : 'fleet_stopped');
        if (kind === 'SIGKILL') faults.killed();
        workers[place] = start();
      }
    },
    stop: async (): Promise<void> => {
      const running = workers.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
      await Promise.all(
        running.map(async (worker) => {
          worker.kill('SIGTERM');
          await once(worker, 'exit');
        }),
      );
    },
  };
};
