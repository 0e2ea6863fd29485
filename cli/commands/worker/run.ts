import packageJson from '../../../package.json' with { type: 'json' };
import { Problem } from '../../../local/install/problem.mjs';
import { EnvironmentError } from '../../../shared/config/environment.ts';
import { variables } from '../../../shared/config/resources.ts';
import type { WorkerStep } from '../../../shared/config/rules.ts';
import { startHealthServer } from '../../../worker/health.ts';
import { WorkerRefusedError } from '../../../worker/consume.ts';
import { runWorker, sqsQueues, type WorkerState } from '../../../worker/run.ts';
import { composeSteps } from '../../../worker/steps.ts';
import { workerClock } from '../../../worker/timing.ts';
import { failureText } from '../../failure-text.ts';
import { INTERRUPTED } from '../../interruption.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import type { PollOptions } from '../../options/poll-options.ts';
import type { Terminal } from '../../terminal.ts';
import { environmentLines, findWorkerEnvironment, type WorkerEnvironment } from './environment.ts';

export type WorkerCommandOptions = DeploymentChoice &
  PollOptions & {
    steps: readonly WorkerStep[];
    receivers: number;
    concurrency: number;
    shutdownSeconds: number;
    healthPort?: number;
    healthHost: string;
    printEnv?: true;
  };

const CANNOT_START = 2;

/** Runs a worker until a signal. Its log and metrics are on stdout; what it says about itself is on stderr. */
export async function runWorkerCommand(options: WorkerCommandOptions, terminal: Terminal): Promise<void> {
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
  options: WorkerCommandOptions,
  { environment, access, place }: WorkerEnvironment,
  terminal: Terminal,
): Promise<void> {
  const { steps, receivers, concurrency, floor, ceiling, exponent, decrease, shutdownSeconds } = options;
  const composed = composeSteps(steps, environment, access);
  warnOfOtherVersion(environment[variables.version], terminal);
  const health = healthOf(options, terminal);
  const { unfinished } = await terminal.untilInterrupted(
    async (signal) => {
      signal.addEventListener('abort', () => {
        terminal.printError(`Stopping within ${shutdownSeconds} s.`);
      });
      terminal.printError(`Worker for ${steps.join(', ')} on ${place}.`);
      const running = runWorker({
        steps: composed,
        limits: { receivers, concurrency, interval: { floor, ceiling, exponent, decrease } },
        shutdownSeconds,
        signal,
        clock: workerClock,
        openQueue: sqsQueues(access, workerClock),
        onStart: health.start,
      });
      try {
        return await running;
      } finally {
        await health.close();
      }
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

function warnOfOtherVersion(deployed: string | undefined, { printError }: Terminal): void {
  if (deployed !== undefined && deployed !== packageJson.version)
    printError(
      `This is version ${packageJson.version}; the deployment has ${deployed}. Update the older one.`,
    );
}

/** The health routes, from the start of the worker to its end. */
function healthOf({ healthPort: port, healthHost: host }: WorkerCommandOptions, terminal: Terminal) {
  let server: ReturnType<typeof startHealthServer> | undefined;
  return {
    start: async (state: () => WorkerState): Promise<void> => {
      if (port === undefined) return;
      server = startHealthServer({ host, port }, state).catch((cause: unknown) => {
        throw new Problem(`The health routes cannot listen on ${host}:${port}: ${failureText(cause)}`, {
          cause,
        });
      });
      terminal.printError(`Health: ${(await server).url}/health and /ready`);
    },
    close: async (): Promise<void> => {
      await server?.then(
        ({ close }) => close(),
        () => undefined,
      );
    },
  };
}

/** Undefined: not a reason that keeps a worker from starting. */
function adviceFor(error: unknown): string | undefined {
  if (error instanceof WorkerRefusedError)
    return 'Check the region, the credentials, and the permissions of the worker (docs/worker.md#permissions).';
  if (error instanceof EnvironmentError)
    return 'posthaste worker --print-env prints the variables of a deployment.';
  return error instanceof Problem ? '' : undefined;
}
