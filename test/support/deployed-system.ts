import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { writeEndpoints, type Endpoints } from '../../local/endpoints.ts';
import { isRunning } from '../../local/install/lock.mjs';
import { localFolder } from '../../local/install/paths.mjs';
import { startLocalSystem } from '../../local/local-system.ts';
import { eventSourceSettings } from './event-sources.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The deployed system that this test run shares. Isolate by queue names. */
    endpoints: Endpoints;
    /** Its logs and temporary files. */
    folder: string;
  }
}

/** Short where waiting would cost a run its time; the API asks for signatures, as in an AWS account. */
const settings = {
  apiAuthorization: 'iam',
  schedulerThreshold: '8',
  attemptTimeoutSeconds: '3',
  subscriptionCacheSeconds: '0',
  overdueAfterSeconds: '5',
  ...eventSourceSettings,
};

const runs = join(localFolder, 'test');
const folder = join(runs, String(process.pid));

/** Read when all else is over, by test/privileges. */
export const callLogOfRun = join(folder, 'calls.jsonl');

/** Deploys the real stacks on a local AWS of this run's own, and takes it down when the run is over. */
const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  forgetEarlierRuns();
  const stopping = new AbortController();
  const { endpoints, emulator } = await startLocalSystem({
    folder,
    settings,
    callLog: callLogOfRun,
    signal: stopping.signal,
  });
  writeEndpoints(join(folder, 'endpoints.json'), endpoints);
  project.provide('endpoints', endpoints);
  project.provide('folder', folder);
  return () => emulator.stop();
};

/** Their logs are kept until the next run, so that what a failed one did can be read. */
const forgetEarlierRuns = (): void => {
  mkdirSync(runs, { recursive: true });
  for (const run of readdirSync(runs)) {
    if (!isRunning(Number(run))) rmSync(join(runs, run), { recursive: true, force: true });
  }
};

export default setup;
