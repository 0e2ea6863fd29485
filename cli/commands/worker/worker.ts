import { InvalidArgumentError, Option, type Command } from 'commander';
import { type WorkerStep, workerSteps } from '../../../shared/config/rules.ts';
import { wholeNumberOf } from '../../options/arguments.ts';
import { onDeployment, addPollOptions } from '../../options/deployment-options.ts';
import type { Terminal } from '../../terminal.ts';
import { runWorkerCommand, type WorkerCommandOptions } from './run.ts';

const MORE = `
The worker does what the functions do, with their settings, on this machine.
It takes the settings from the environment if POSTHASTE_VERSION is set there,
as --print-env prints them, and otherwise from the deployment. Credentials are
those of the AWS SDK: environment, profile, container or web identity.

SIGTERM or Ctrl-C: receives nothing more, finishes what is in flight, and exits
with 0. A second one, at least a second later, ends it at once. Nothing is lost.

Exit status: 2 if it cannot start, with the permission that is missing.
`;

/** `posthaste worker` */
export function addWorker(command: Command, terminal: Terminal): void {
  command
    .addOption(
      new Option('--steps <LIST>', `what to do, separated by commas: ${workerSteps.join(', ')}`)
        .argParser(stepsOf)
        .default(workerSteps, 'all'),
    )
    .option('--receivers <N>', 'receive loops for each queue', wholeNumberOf(1, 50), 2)
    .option('--concurrency <N>', 'messages of each queue in flight at most', wholeNumberOf(1, 500), 40)
    .option('--shutdown-seconds <N>', 'time from SIGTERM to the exit', wholeNumberOf(3, 3600), 25)
    .option(
      '--health-port <PORT>',
      'serve /health and /ready, 0: on a free port (default: not at all)',
      wholeNumberOf(0, 65_535),
    )
    .option('--health-host <HOST>', 'address to serve them on', '127.0.0.1')
    .option('--print-env', 'print the environment of a worker, for containers and systemd, and exit')
    .action(async (options: WorkerCommandOptions) => {
      await runWorkerCommand(options, terminal);
    });
  addPollOptions(command, 'an empty queue');
  onDeployment(command, {
    more: MORE,
    examples: [
      'worker --local',
      'worker --deployment Posthaste --steps deliver --ceiling 5 --health-port 8080',
    ],
  });
}

function stepsOf(text: string): readonly WorkerStep[] {
  const names = text.split(',').map((name) => name.trim());
  const steps = workerSteps.filter((step) => names.includes(step));
  if (steps.length !== new Set(names).size)
    throw new InvalidArgumentError(`Expected some of ${workerSteps.join(', ')}, separated by commas.`);
  return steps;
}
