import { mkdirSync } from 'node:fs';
import type { Settings } from './assembly.ts';
import { deploy } from './deploy.ts';
import { startEmulator, type Emulator } from './emulator.ts';
import { endpointsOf, type Endpoints } from './endpoints.ts';
import { step } from './install/progress.mjs';

export type LocalSystemOptions = {
  /** For logs, outputs and temporary files; one system's own. */
  folder: string;
  /** Beyond `local`, which is always set. */
  settings: Settings;
  port?: number;
  /** A file that every call of a function is written into (call-log.ts). @default none */
  callLog?: string;
  signal: AbortSignal;
};

/** The real stacks, deployed by the real CDK on a local AWS of their own. */
export type LocalSystem = { endpoints: Endpoints; emulator: Emulator };

const LAPTOP: Settings = {
  // Every invocation at once is a process of its own here, on a few cores that the emulator needs too.
  dispatchConcurrency: '2',
  deliverConcurrency: '5',
  retryConcurrency: '5',
  // The API's own host name does not resolve here (endpoints.ts).
  publicApiUrl: 'http://{host}/_aws/execute-api/{apiId}/$default',
};

/** @throws Problem with what to do, when it cannot be brought up; nothing is left running then. */
export async function startLocalSystem(options: LocalSystemOptions): Promise<LocalSystem> {
  const { folder, settings, port, callLog, signal } = options;
  mkdirSync(folder, { recursive: true });
  const emulator = await step('Starting the local AWS', () =>
    startEmulator({
      folder,
      signal,
      ...(port === undefined ? {} : { port }),
      ...(callLog === undefined ? {} : { callLog }),
    }),
  );
  try {
    const outputs = await deploy({
      endpoint: emulator.endpoint,
      keys: emulator.keys,
      folder,
      signal,
      settings: { ...LAPTOP, ...settings, local: 'true' },
    });
    return { endpoints: endpointsOf(emulator, outputs), emulator };
  } catch (error) {
    await emulator.stop();
    throw error;
  }
}
