import * as z from 'zod';
import { commandText } from '../../../local/command-name.ts';
import { Problem } from '../../../local/install/problem.mjs';
import packageJson from '../../../package.json' with { type: 'json' };
import type { AwsAccess } from '../../../shared/adapters/aws/client-options.ts';
import { EnvironmentError, type Source } from '../../../shared/config/environment.ts';
import { variables } from '../../../shared/config/resources.ts';
import type { WorkerStep } from '../../../shared/config/rules.ts';
import { WorkerRefusedError } from '../../../worker/consume.ts';
import { startHealthServer } from '../../../worker/health.ts';
import { runWorker, sqsQueues, type WorkerState, composeSteps } from '../../../worker/run.ts';
import { workerClock } from '../../../worker/timing.ts';
import { type DeploymentChoice, findDeployment } from '../../deployment.ts';
import { failureText } from '../../failure-report.ts';
import { INTERRUPTED } from '../../interruption.ts';
import type { PollOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';

export type WorkerOptions = DeploymentChoice &
  PollOptions &
  Record<'receivers' | 'concurrency' | 'shutdownSeconds', number> & {
    steps: readonly WorkerStep[];
    healthPort?: number;
    healthHost: string;
    printEnv?: true;
  };

/** What a worker runs on. `access`: by default the SDK's region and chain of credentials. */
type WorkerEnvironment = { environment: Source; access: AwsAccess; place: string };

/**
 * The variables of the functions: of the process where they are set, as in a container; otherwise of a deployment, which
 * has them as an output.
 * @throws Problem if there is no deployment, or one of an earlier version
 */
async function findWorkerEnvironment(choice: DeploymentChoice, env: Source): Promise<WorkerEnvironment> {
  const isChosen = choice.local === true || choice.deployment !== undefined;
  if (!isChosen && env[variables.version] !== undefined)
    return { environment: env, access: {}, place: 'the deployment that the environment describes' };
  const { workerEnvironment, client, place, name } = await findDeployment(choice);
  if (workerEnvironment === undefined)
    throw new Problem(
      `${place ?? name} has no output WorkerEnvironment, which tells a worker its settings: deploy this version first.`,
    );
  const environment = z.record(z.string(), z.string()).parse(JSON.parse(workerEnvironment));
  return { environment, access: client, place: place ?? name };
}

/** Lines for `docker run --env-file`, `kubectl create configmap --from-env-file` and systemd's EnvironmentFile. */
function environmentLines({ environment, access }: WorkerEnvironment): string[] {
  const endpoint = access.endpoint === undefined ? [] : [`AWS_ENDPOINT_URL=${access.endpoint}`];
  const named = new Set<string>([...Object.values(variables), 'AWS_REGION', 'UV_THREADPOOL_SIZE']);
  const lines = Object.entries(environment).flatMap(([name, value]) =>
    named.has(name) && value !== undefined ? [`${name}=${value}`] : [],
  );
  return [...lines.toSorted(), ...endpoint];
}

const CANNOT_START = 2;

/** Runs a worker until a signal. Its log and metrics are on stdout; what it says about itself is on stderr. */
export async function runChosen(options: WorkerOptions, terminal: Terminal): Promise<undefined> {
  try {
    const found = await findWorkerEnvironment(options, terminal.env);
    if (options.printEnv === true) environmentLines(found).forEach(terminal.print);
    else await work(options, found, terminal);
  } catch (error) {
    const advice = adviceFor(error);
    if (advice === undefined) throw error;
    terminal.printError(`posthaste: ${failureText(error)}`);
    if (advice !== '') terminal.printError(advice);
    terminal.exitStatus = CANNOT_START;
  }
}

async function work(
  options: WorkerOptions,
  { environment, access, place }: WorkerEnvironment,
  terminal: Terminal,
): Promise<void> {
  const { steps, receivers, concurrency, floor, ceiling, exponent, decrease, shutdownSeconds } = options;
  const composed = composeSteps(steps, environment, access);
  const deployed = environment[variables.version];
  if (deployed !== undefined && deployed !== packageJson.version)
    terminal.printError(
      `This is version ${packageJson.version}; the deployment has ${deployed}. Update the older one.`,
    );
  const { unfinished } = await terminal.untilInterrupted(
    async (signal) => {
      signal.addEventListener('abort', () => {
        terminal.printError(`Stopping within ${shutdownSeconds} s.`);
      });
      terminal.printError(`Worker for ${steps.join(', ')} on ${place}.`);
      return runWorker({
        steps: composed,
        limits: { receivers, concurrency, interval: { floor, ceiling, exponent, decrease } },
        shutdownSeconds,
        signal,
        clock: workerClock,
        openQueue: sqsQueues(access, workerClock),
        onStart: (state) => serveHealth(options, state, terminal),
      });
    },
    // The claims and the visibility timeout make up for what is cut off.
    () => process.exit(INTERRUPTED),
  );
  if (unfinished > 0) {
    terminal.printError(`${unfinished} messages were not finished. SQS shows them again within 30 s.`);
    // Their work still holds connections and timers.
    await terminal.allWritten();
    process.exit(0);
  }
}

/** Serves the health routes, if there is a port for them. Returns what ends them. */
async function serveHealth(
  { healthPort: port, healthHost: host }: WorkerOptions,
  state: () => WorkerState,
  terminal: Terminal,
): Promise<(() => Promise<void>) | undefined> {
  if (port === undefined) return undefined;
  const { url, close } = await startHealthServer({ host, port }, state).catch((cause: unknown) => {
    const text = `The health routes cannot listen on ${host}:${port}: ${failureText(cause)}`;
    throw new Problem(text, { cause });
  });
  terminal.printError(`Health: ${url}/health and /ready`);
  return close;
}

/** Undefined: not a reason that keeps a worker from starting. */
function adviceFor(error: unknown): string | undefined {
  if (error instanceof WorkerRefusedError)
    return 'Check the region, the credentials, and the permissions of the worker (docs/worker.md#permissions).';
  if (error instanceof EnvironmentError)
    return `${commandText('worker --print-env')} prints the variables of a deployment.`;
  return error instanceof Problem ? '' : undefined;
}
