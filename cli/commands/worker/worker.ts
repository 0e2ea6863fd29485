import { InvalidArgumentError } from 'commander';
import { WORKER_CONCURRENCY, type WorkerStep, workerSteps } from '../../../shared/config/rules.ts';
import { option, wholeNumber } from '../../options/arguments.ts';
import { deployed } from '../../options/deployed.ts';
import { checkPolling, pollOptions } from '../../options/deployment-options.ts';
import type { WorkerOptions } from './run.ts';

/** `posthaste worker` */
export const worker = deployed<WorkerOptions>({
  options: [
    option(
      '--steps <LIST>',
      `what to do, separated by commas: ${workerSteps.join(', ')}`,
      parseSteps,
    ).default(workerSteps, 'all'),
    option('--receivers <N>', 'receive loops for each queue', wholeNumber(1, 50), 2),
    option(
      '--concurrency <N>',
      'messages of each queue in flight at most',
      wholeNumber(1, 500),
      WORKER_CONCURRENCY,
    ),
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
  run: async ({ options, terminal, refuse }) => {
    checkPolling(options, refuse);
    // Loaded only here: completion and help would wait for all functions.
    const { runChosen } = await import('./run.ts');
    return runChosen(options, terminal);
  },
});

function parseSteps(text: string): readonly WorkerStep[] {
  const names = text.split(',').map((name) => name.trim());
  const steps = workerSteps.filter((step) => names.includes(step));
  if (steps.length !== new Set(names).size)
    throw new InvalidArgumentError(`Expected some of ${workerSteps.join(', ')}, separated by commas.`);
  return steps;
}
