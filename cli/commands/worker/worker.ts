import { InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { Problem } from '../../../local/install/problem.mjs';
import packageJson from '../../../package.json' with { type: 'json' };
import type { AwsAccess } from '../../../shared/adapters/aws/client-options.ts';
import { EnvironmentError, type Source } from '../../../shared/config/environment.ts';
import { variables } from '../../../shared/config/resources.ts';
import { type WorkerStep, workerSteps } from '../../../shared/config/rules.ts';
import { WorkerRefusedError } from '../../../worker/consume.ts';
import { startHealthServer } from '../../../worker/health.ts';
import { runWorker, sqsQueues, type WorkerState, composeSteps } from '../../../worker/run.ts';
import { workerClock } from '../../../worker/timing.ts';
import { type DeploymentChoice, findDeployment } from '../../deployment.ts';
import { failureText } from '../../failure-report.ts';
import { INTERRUPTED } from '../../interruption.ts';
import { option, wholeNumber } from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import { checkPolling, pollOptions, type PollOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';

/** `posthaste worker` */
export const worker = deployed<Options>({
  options: [
    option(
      '--steps <LIST>',
      `what to do, separated by commas: ${workerSteps.join(', ')}`,
      parseSteps,
    ).default(workerSteps, 'all'),
    option('--receivers <N>', 'receive loops for each queue', wholeNumber(1, 50), 2),
    option('--concurrency <N>', 'messages of each queue in flight at most', wholeNumber(1, 500), 40),
    option('--shutdown-seconds <N>', 'time from SIGTERM to the exit', wholeNumber(3, 3600), 25),
    option(
      '--health-port <PORT>',
      'serve /health and /ready, 0: on a free port (default: not at all)',
      wholeNumber(0, 65_535),
    ),
    option('--health-host <HOST>', 'address to serve them on').default('127.0.0.1'),
    option('--print-env', 'print the environment of a worker, for containers and systemd, and exit'),
    ...pollOptions('an empty queue'),
  ],
  more: `
The worker does what the functions do, with their settings, on this machine.
It takes the settings from the environment if POSTHASTE_VERSION is set there,
as --print-env prints them, and otherwise from the deployment. Credentials are
those of the AWS SDK: environment, profile, container or web identity.

SIGTERM or Ctrl-C: receives nothing more, finishes what is in flight, and exits
with 0. A second one, at least a second later, ends it at once. Nothing is lost.

Exit status: 2 if it cannot start, with the permission that is missing.
`,
  examples: [
    'worker --local',
    'worker --deployment Posthaste --steps deliver --ceiling 5 --health-port 8080',
  ],
  run: ({ options, terminal, refuse }) => {
    checkPolling(options, refuse);
    return runCommand(options, terminal);
  },
});

function parseSteps(text: string): readonly WorkerStep[] {
  const names = text.split(',').map((name) => name.trim());
  const steps = workerSteps.filter((step) => names.includes(step));
  if (steps.length !== new Set(names).size)
    throw new InvalidArgumentError(`Expected some of ${workerSteps.join(', ')}, separated by commas.`);
  return steps;
}

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

type Options = DeploymentChoice &
  PollOptions &
  Record<'receivers' | 'concurrency' | 'shutdownSeconds', number> & {
    steps: readonly WorkerStep[];
    healthPort?: number;
    healthHost: string;
    printEnv?: true;
  };

const CANNOT_START = 2;

/** Runs a worker until a signal. Its log and metrics are on stdout; what it says about itself is on stderr. */
async function runCommand(options: Options, terminal: Terminal): Promise<undefined> {
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
  options: Options,
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
  { healthPort: port, healthHost: host }: Options,
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
    return 'posthaste worker --print-env prints the variables of a deployment.';
  return error instanceof Problem ? '' : undefined;
}
