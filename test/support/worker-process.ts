import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { projectRoot } from '../../local/install/paths.mjs';
import { awsEnvironment, plainEnvironment, type RootKeys } from '../../local/local-aws.ts';
import { variables } from '../../shared/config/resources.ts';
import { deployment } from './deployment.ts';
import { privateQueues } from './private-queues.ts';

/** The variables of the deployment's worker, with queues that no function and no other worker consumes. */
export const privateWorkerEnvironment = async () => {
  const queues = privateQueues(deployment.sqs);
  const ingressQueueUrl = await queues.create();
  const deployed = JSON.parse(deployment.endpoints.workerEnvironment ?? '{}') as Record<string, string>;
  return {
    variables: {
      ...deployed,
      [variables.ingressQueueUrl]: ingressQueueUrl,
      [variables.deliveryQueueUrl]: await queues.create(),
      [variables.retryQueueUrl]: await queues.create(),
      [variables.operationQueueUrl]: await queues.create(),
    },
    ingressQueueUrl,
    deleteQueues: queues.deleteAll,
  };
};

export type WorkerProcess = ReturnType<typeof startWorker>;

/** `posthaste worker` as a process on the run's local AWS. */
export const startWorker = (
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  keys: RootKeys = deployment.client.credentials,
) => {
  const command = join(projectRoot, 'cli/posthaste.mjs');
  const child: ChildProcess = spawn(process.execPath, [command, 'worker', '--health-port', '0', ...args], {
    env: { ...plainEnvironment(), ...environment, ...awsEnvironment(deployment.client.endpoint, keys) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return {
    kill: (signal: 'SIGTERM' | 'SIGKILL') => child.kill(signal),
    /** Its exit status; null after SIGKILL. */
    ended: once(child, 'close').then(([status]: (number | null)[]) => status ?? null),
    /** What it has printed so far. */
    stdout: () => stdout,
    stderr: () => stderr,
    /** The URL of the health routes, once it serves them. */
    healthUrl: () => /Health: (\S+)\/health/.exec(stderr)?.[1],
  };
};
