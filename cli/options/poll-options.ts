import { InvalidArgumentError, Option, type Command } from 'commander';
import { POLL_DECREASES, type PollIntervalOptions } from '../../shared/domain/retry/poll-interval.ts';

export type PollOptions = Required<PollIntervalOptions>;

/** Adds the options of the poller. `polled`: what it polls, and when it pauses. */
export function addPollOptions(command: Command, polled: string): Command {
  return command
    .option('--floor <SECONDS>', `shortest pause between polls of ${polled}`, secondsOf, 1)
    .option('--ceiling <SECONDS>', 'longest pause', secondsOf, 60)
    .option('--exponent <N>', 'factor of the pause while nothing comes', exponentOf, 2)
    .addOption(
      new Option('--decrease <HOW>', 'after a message, reset the pause or halve it')
        .choices(POLL_DECREASES)
        .default('reset'),
    )
    .hook('preAction', () => {
      const { floor, ceiling } = command.opts<PollOptions>();
      if (ceiling < floor) command.error("error: option '--ceiling' must be at least '--floor'");
    });
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (!/^\d{1,5}(?:\.\d{1,3})?$/.test(text) || seconds < 0.1 || seconds > 3600)
    throw new InvalidArgumentError('Expected a number of seconds from 0.1 to 3600.');
  return seconds;
}

function exponentOf(text: string): number {
  const exponent = Number(text);
  if (!/^\d{1,3}(?:\.\d{1,3})?$/.test(text) || exponent < 1 || exponent > 100)
    throw new InvalidArgumentError('Expected a number from 1 to 100.');
  return exponent;
}
