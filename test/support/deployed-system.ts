import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { TestProject } from 'vitest/node';
import { toClientOptions, writeEndpoints, type Endpoints } from '../../local/endpoints.ts';
import { isRunning } from './run-folder.ts';
import { localFolder } from '../../local/install/paths.mjs';
import { type LocalSystem, startLocalSystem } from '../../local/local-system.ts';
import { endpointsIn, failureIn } from './deployed-endpoints.ts';
import { eventSourceSettings } from './event-sources.ts';
import { loggingLauncher } from './logging-launcher.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder for the logs and temporary files of the deployed system that this run shares, and its endpoints. */
    folder: string;
  }
}

/** Short times where waiting would slow a run. The API requires signatures, as in an AWS account. */
const settings = {
  apiAuthorization: 'iam',
  portal: 'true',
  schedulerThreshold: '5',
  attemptTimeoutSeconds: '3',
  subscriptionCacheSeconds: '0',
  overdueAfterSeconds: '5',
  ...eventSourceSettings,
};

const runs = join(localFolder, 'test');
const folder = join(runs, String(process.pid));

/** Read at the end of the run by test/privileges. */
export const useLogOfRun = join(folder, 'uses.jsonl');

/** Tells later projects that the first one deploys: each project loads this module anew. */
const DEPLOYED = 'POSTHASTE_DEPLOYED_FOR_TESTS';

/**
 * Deploys the real stacks on a local AWS for this run, shared by all projects, and stops it when the run ends. Tests of
 * other projects run meanwhile; deployment.ts waits for it.
 */
const setup = (project: TestProject): (() => Promise<void>) | undefined => {
  project.provide('folder', folder);
  if (process.env[DEPLOYED] !== undefined) return undefined;
  process.env[DEPLOYED] = folder;
  removeEarlierRuns();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const stopping = new AbortController();
  const deployed = deploy(stopping.signal).catch((error: unknown) => {
    writeFileSync(failureIn(folder), String(error));
  });
  return async () => {
    stopping.abort();
    const system = await deployed;
    await system?.emulator.stop();
  };
};

const deploy = async (signal: AbortSignal): Promise<LocalSystem> => {
  const system = await startLocalSystem({
    folder,
    settings,
    launcher: loggingLauncher({ useLog: useLogOfRun }),
    signal,
  });
  await shortenOperationRedelivery(system.endpoints);
  writeEndpoints(endpointsIn(folder), system.endpoints);
  return system;
};

/**
 * Shortens the visibility timeout (normally 45 s), so that operations of a killed operate function return soon.
 */
const shortenOperationRedelivery = async (endpoints: Endpoints): Promise<void> => {
  const sqs = new SQSClient(toClientOptions(endpoints));
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
