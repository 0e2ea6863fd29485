import { mkdirSync } from 'node:fs';
import type { Settings } from './cached-builds.ts';
import { deploy } from './deploy.ts';
import { startEmulator, type Emulator } from './emulator.ts';
import { endpointsOf, type Endpoints } from './endpoints.ts';
import { step } from './install/progress.mjs';

export type LocalSystemOptions = {
  /** Folder for logs, outputs and temporary files; must not be shared. */
  folder: string;
  /** Settings in addition to `local`, which is always set. */
  settings: Settings;
  /** Command of a CDK app in the current folder, deployed in place of the built-in one. */
  app?: string | undefined;
  port?: number | undefined;
  /** File for a log of every call of a function (call-log.ts). @default none */
  callLog?: string;
  signal: AbortSignal;
};

/** The real stacks, deployed by the real CDK on a separate local AWS. */
export type LocalSystem = { endpoints: Endpoints; emulator: Emulator };

const LAPTOP: Settings = {
  // Each concurrent invocation is a separate process here, and shares a few cores with the emulator.
  dispatchConcurrency: '2',
  deliverConcurrency: '5',
  retryConcurrency: '5',
  // The API's host name does not resolve locally (endpoints.ts).
  publicApiUrl: 'http://{host}/_aws/execute-api/{apiId}/$default',
};

/** Starts a local system. @throws Problem with advice if it cannot start; no process is left running then */
export async function startLocalSystem(options: LocalSystemOptions): Promise<LocalSystem> {
  const { folder, settings, app, port, callLog, signal } = options;
  mkdirSync(folder, { recursive: true });
  const emulator = await step('Starting the local AWS', () =>
    startEmulator({ folder, port, callLog, signal }),
  );
  try {
    const all = { ...LAPTOP, ...settings, local: 'true' };
    const outputs = await deploy({
      endpoint: emulator.endpoint,
      keys: emulator.keys,
      folder,
      signal,
      ...(app === undefined ? { context: all } : { app, context: { posthaste: JSON.stringify(all) } }),
    });
    return { endpoints: endpointsOf(emulator, outputs), emulator };
  } catch (error) {
    await emulator.stop();
    throw error;
  }
}
