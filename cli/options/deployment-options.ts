import { InvalidArgumentError, Option, type Command } from 'commander';
import { commandText, START } from '../../local/command-name.ts';
import type { DeploymentChoice } from '../deployment.ts';

/** Options of every command that works on a deployment. */
export type DeploymentOptions = DeploymentChoice & { json?: true };

/** Describes the option --verbose of commands that poll. */
export const VERBOSE = 'say on stderr how long the pauses between polls are';

const WHICH = `
Without --local or --deployment, the command uses the local deployment if
${START} is running, and otherwise the one in AWS: Posthaste, or the only one
there is. If POSTHASTE_API_URL is set,
API requests go to that URL unless --local is given, and commands on dead
letters need --local or --deployment.`;

/**
 * Adds the deployment options and examples. `json` describes the `--json` output; `examples` are the arguments to type.
 */
export function onDeployment(
  command: Command,
  { json, examples, more = '' }: { json?: string; examples: readonly string[]; more?: string },
): Command {
  if (json !== undefined) command.option('--json', `print JSON: ${json}`);
  return command
    .addOption(new Option('--local', `use the local deployment (${START})`).conflicts('deployment'))
    .addOption(
      new Option('--deployment <NAME>', 'use the deployment in AWS of this name').argParser(deploymentOf),
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
function deploymentOf(text: string): string {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(text)) {
    throw new InvalidArgumentError('Expected a letter, then up to 63 letters, digits or hyphens.');
  }
  return text;
}
