import { type Command, InvalidArgumentError, Option } from 'commander';
import { commandText, START } from '../../local/command-name.ts';
import { POLL_DECREASES, type PollIntervalOptions } from '../../shared/domain/retry/poll-interval.ts';
import type { DeploymentChoice } from '../deployment.ts';
import { option } from './arguments.ts';

/** Options of every command that works on a deployment. */
export type DeploymentOptions = DeploymentChoice & { json?: true };

/** Of commands that poll. */
export const VERBOSE = option('--verbose', 'say on stderr how long the pauses between polls are');

const WHICH = `
Without --local or --deployment, the command uses the local deployment if it is
up (${START}), and otherwise the one in AWS: Posthaste, or the only
one there is. If POSTHASTE_API_URL is set, API requests go to that URL unless
--local is given, and commands on dead letters need --local or --deployment.`;

export function addDeploymentOptions(
  command: Command,
  { examples, more = '' }: { examples: readonly string[]; more?: string },
): void {
  command
    .addOption(new Option('--local', `use the local deployment (${START})`).conflicts('deployment'))
    .addOption(
      new Option('--deployment <NAME>', 'use the deployment in AWS of this name').argParser(parseDeployment),
    )
    .addHelpText('after', `${more}${WHICH}${examplesText(examples)}`);
}

export function examplesText(examples: readonly string[]): string {
  return [
    '',
    '',
    `Example${examples.length === 1 ? '' : 's'}:`,
    ...examples.map((args) => `  $ ${commandText(args)}`),
  ].join('\n');
}

/** The same rule as for the setting `deployment`, the prefix of stack names. */
export function parseDeployment(text: string): string {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(text)) {
    throw new InvalidArgumentError('Expected a letter, then up to 63 letters, digits or hyphens.');
  }
  return text;
}

export type PollOptions = Required<PollIntervalOptions>;

/** The options of the poller. `polled`: what it polls, and when it pauses. */
export function pollOptions(polled: string): Option[] {
  return [
    option('--floor <SECONDS>', `shortest pause between polls of ${polled}`, parseSeconds, 1),
    option('--ceiling <SECONDS>', 'longest pause', parseSeconds, 60),
    option('--exponent <N>', 'factor of the pause while nothing comes', parseExponent, 2),
    option('--decrease <HOW>', 'after a message, reset the pause or halve it')
      .choices(POLL_DECREASES)
      .default('reset'),
  ];
}

/** What commander cannot check. `refuse`: ends the command. */
export function checkPolling({ floor, ceiling }: PollOptions, refuse: (fault: string) => never): void {
  if (ceiling < floor) refuse("option '--ceiling' must be at least '--floor'");
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^\d{1,5}(?:\.\d{1,3})?$/.test(text) || seconds < 0.1 || seconds > 3600)
    throw new InvalidArgumentError('Expected a number of seconds from 0.1 to 3600.');
  return seconds;
}

function parseExponent(text: string): number {
  const exponent = Number(text);
  if (!/^\d{1,3}(?:\.\d{1,3})?$/.test(text) || exponent < 1 || exponent > 100)
    throw new InvalidArgumentError('Expected a number from 1 to 100.');
  return exponent;
}
