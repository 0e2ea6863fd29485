import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { TestProject } from 'vitest/node';
import { clientOf, readEndpoints, writeEndpoints, type Endpoints } from '../../local/endpoints.ts';
import { isRunning } from '../../local/install/lock.mjs';
import { localFolder } from '../../local/install/paths.mjs';
import { startLocalSystem } from '../../local/local-system.ts';
import { eventSourceSettings } from './event-sources.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The deployed system that this test run shares. Use different queue names to isolate tests. */
    endpoints: Endpoints;
    /** Folder for its logs and temporary files. */
    folder: string;
  }
}

/** Short times where waiting would slow a run. The API requires signatures, as in an AWS account. */
const settings = {
  apiAuthorization: 'iam',
  schedulerThreshold: '5',
  attemptTimeoutSeconds: '3',
  subscriptionCacheSeconds: '0',
  overdueAfterSeconds: '5',
  ...eventSourceSettings,
};

const runs = join(localFolder, 'test');
const folder = join(runs, String(process.pid));

/** Read at the end of the run by test/privileges. */
export const callLogOfRun = join(folder, 'calls.jsonl');

const endpointsOfRun = join(folder, 'endpoints.json');

/**
 * Environment variable that shows later projects what the first one deployed: each project loads this module
 * anew.
 */
const DEPLOYED = 'POSTHASTE_DEPLOYED_FOR_TESTS';

/** Deploys the real stacks on a local AWS for this run, shared by all projects, and stops it when the run ends. */
const setup = async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  project.provide('folder', folder);
  const deployed = process.env[DEPLOYED] === undefined ? undefined : readEndpoints(endpointsOfRun);
  if (deployed !== undefined) {
    project.provide('endpoints', deployed);
    return undefined;
  }
  removeEarlierRuns();
  const stopping = new AbortController();
  const { endpoints, emulator } = await startLocalSystem({
    folder,
    settings,
    callLog: callLogOfRun,
    signal: stopping.signal,
  });
  await shortenOperationRedelivery(endpoints);
  writeEndpoints(endpointsOfRun, endpoints);
  process.env[DEPLOYED] = folder;
  project.provide('endpoints', endpoints);
  return () => emulator.stop();
};

/**
 * Shortens the visibility timeout (normally 45 s), so that operations of a killed operate function return soon.
 */
const shortenOperationRedelivery = async (endpoints: Endpoints): Promise<void> => {
  const sqs = new SQSClient(clientOf(endpoints));
  const Attributes = { VisibilityTimeout: '10' };
  await sqs.send(new SetQueueAttributesCommand({ QueueUrl: endpoints.operationQueueUrl, Attributes }));
  sqs.destroy();
};

/** Deletes logs of earlier runs. They are kept until the next run, so that a failed run can be examined. */
const removeEarlierRuns = (): void => {
  mkdirSync(runs, { recursive: true });
  for (const run of readdirSync(runs)) {
    if (!isRunning(Number(run))) rmSync(join(runs, run), { recursive: true, force: true });
  }
};

export default setup;
