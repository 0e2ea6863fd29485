import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ListQueuesCommand, SQSClient, SQSServiceException } from '@aws-sdk/client-sqs';
import { ministackFolder, projectRoot } from './install/paths.mjs';
import { arePipPackagesReady, findPython, localAwsPackages } from './install/pip.mjs';
import { Problem } from './install/problem.mjs';
import { readTail, startGroup } from './install/process-group.mjs';
import { keysInEnvironment, localAws, plainEnvironment, randomKeys, type RootKeys } from './local-aws.ts';
import { loopbackPort } from './loopback-port.ts';
import { pollUntil } from './poll-until.ts';

/** A start takes about a second; a busy machine needs more. */
const HEALTHY_WITHIN_MS = 60_000;

export type EmulatorOptions = {
  /** Folder for logs, outputs and temporary files; must not be shared. */
  folder: string;
  /** @default a free port */
  port?: number | undefined;
  /** A program that starts it with more than local/ministack_local.py, and its variables. */
  launcher?: { file: string; environment: NodeJS.ProcessEnv } | undefined;
  signal: AbortSignal;
};

export type Emulator = {
  endpoint: string;
  /** Root keys. Requests with unknown keys, and requests from web pages, are refused. */
  keys: RootKeys;
  log: string;
  /** Of its process, which leads a group with the processes of the functions. */
  pid: number;
  /** Resolves when the process has ended, for any reason. */
  ended: Promise<unknown>;
  /** Stops it together with the processes of its functions. */
  stop: () => Promise<void>;
};

/**
 * Starts the local AWS on loopback with IAM enforced, and waits until it is healthy.
 * @throws Problem if it is not installed, the port is in use, or it does not become healthy
 */
export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const { folder, port, launcher, signal } = options;
  const python = findPython();
  if (!arePipPackagesReady(ministackFolder, localAwsPackages, python))
    throw new Problem(`The local AWS is not installed. Run "node local/prepare.mjs test" to install it.`);
  const gatewayPort = await loopbackPort(port);
  const keys = randomKeys();
  const temporary = temporaryFolder(folder);
  const log = join(folder, 'emulator.log');
  writeFileSync(log, '');
  const { file = join(projectRoot, 'local/ministack_local.py'), environment } = launcher ?? {};
  const env = {
    ...plainEnvironment(),
    ...emulatorEnvironment(gatewayPort, temporary),
    ...keysInEnvironment(keys),
    ...environment,
  };
  const group = await startGroup(python.executable, [file], { env, cwd: folder, log });
  const endpoint = `http://127.0.0.1:${gatewayPort}`;
  const stop = async (): Promise<void> => {
    await group.stop();
    rmSync(temporary, { recursive: true, force: true });
  };
  const emulator = { endpoint, keys, log, pid: group.pid, ended: group.ended, stop };
  try {
    await waitUntilHealthy(emulator, signal);
    return emulator;
  } catch (error) {
    await stop();
    throw error;
  }
}

function emulatorEnvironment(port: number, temporary: string): NodeJS.ProcessEnv {
  return {
    PYTHONPATH: ministackFolder,
    TMPDIR: temporary,
    // By default a folder in /tmp, which other users can make first, with the private key of Cognito.
    STATE_DIR: join(temporary, 'state'),
    GATEWAY_PORT: String(port),
    BIND_HOST: '127.0.0.1',
    MINISTACK_HOST: '127.0.0.1',
    AUTH: 'true',
    IOT_MTLS_ENABLED: '0',
    SFTP_ENABLED: '0',
    LOG_LEVEL: 'WARNING',
  };
}

/**
 * Creates the temporary folder, in which ministack writes a CommonJS script as `.js`. Without this package.json, the
 * project's `"type": "module"` would apply, and the script would exit without an error message.
 */
function temporaryFolder(folder: string): string {
  const temporary = join(folder, 'tmp');
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  writeFileSync(join(temporary, 'package.json'), '{"type":"commonjs"}\n');
  return temporary;
}

async function waitUntilHealthy(
  { endpoint, keys, ended, log }: Omit<Emulator, 'pid' | 'stop'>,
  signal: AbortSignal,
): Promise<void> {
  let hasEnded = false;
  void ended.then(() => (hasEnded = true));
  const sqs = new SQSClient({ endpoint, region: localAws.region, credentials: keys, maxAttempts: 1 });
  const state = await pollUntil(async () => (hasEnded ? 'ended' : await health(sqs)), {
    withinMs: HEALTHY_WITHIN_MS,
    interval: { floor: 0.05, ceiling: 0.25 },
    signal,
  });
  sqs.destroy();
  if (state === 'healthy') return;
  const what = state === 'ended' ? 'stopped at once' : `was not ready within ${HEALTHY_WITHIN_MS / 1000} s`;
  throw new Problem(`The local AWS ${what}. The end of its log (full log: ${log}):\n${readTail(log)}`);
}

/** Undefined until the endpoint answers. @throws SQSServiceException if the keys are refused */
async function health(sqs: SQSClient): Promise<'healthy' | undefined> {
  try {
    await sqs.send(new ListQueuesCommand({}), { abortSignal: AbortSignal.timeout(2_000) });
    return 'healthy';
  } catch (error) {
    if (error instanceof SQSServiceException) throw error;
    return undefined;
  }
}
