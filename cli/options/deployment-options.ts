import { type Command, type Help, InvalidArgumentError, type Option } from 'commander';
import { commandText } from '../../local/command-name.ts';
import { POLL_DECREASES, type PollIntervalOptions } from '../../shared/domain/retry/poll-interval.ts';
import type { DeploymentChoice } from '../deployment.ts';
import { decimal, option } from './arguments.ts';

/** Options of every command that works on a deployment. */
export type DeploymentOptions = DeploymentChoice & { json?: true };

/** Of commands that poll. */
export const VERBOSE = option('--verbose', 'say on stderr how long the pauses between polls are');

/**
 * Adds to the help what follows the options: text in the width of the terminal, and examples on one line each, to paste.
 * Paragraphs of the text begin at the margin, and items two columns from it; their next lines may be further in.
 */
export function addMore(command: Command, text: string, examples: readonly string[]): void {
  const lines = text.replaceAll(/^(\S.*)\n(?=\S)|\n {4,}(?=\S)/gm, '$1 ').split('\n');
  command.addHelpText('after', () => {
    const help = command.createHelp();
    const width = command.configureOutput().getOutHelpWidth?.() ?? 80;
    return [
      ...lines.map((line) => wrapLine(line, width, help)),
      ...(lines.at(-1) === '' ? [] : ['']),
      `Example${examples.length === 1 ? '' : 's'}:`,
      ...examples.map((args) => `  $ ${commandText(args)}`),
    ].join('\n');
  });
}

/** The next lines of an item stand below its text, behind its name if there are at least two blanks between. */
function wrapLine(line: string, width: number, help: Help): string {
  const [start = ''] = /^ {2}(?:\S+ {2,})?/.exec(line) ?? [];
  const rest = help.boxWrap(line.slice(start.length), width - start.length);
  return start + rest.replaceAll('\n', `\n${' '.repeat(start.length)}`);
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
  const parseSeconds = decimal(0.1, 3600, 'a number of seconds from 0.1 to 3600');
  return [
    option('--floor <SECONDS>', `shortest pause between polls of ${polled}`, parseSeconds, 1),
    option('--ceiling <SECONDS>', 'longest pause', parseSeconds, 60),
    option('--exponent <N>', 'factor of the pause while nothing comes', decimal(1, 100), 2),
    option('--decrease <HOW>', 'after a message, reset the pause or halve it')
      .choices(POLL_DECREASES)
      .default('reset'),
  ];
}

/** What commander cannot check. `refuse`: ends the command. */
export function checkPolling({ floor, ceiling }: PollOptions, refuse: (fault: string) => never): void {
  if (ceiling < floor) refuse("option '--ceiling' must be at least '--floor'");
}
