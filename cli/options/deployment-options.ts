import { InvalidArgumentError, Option, type Command } from 'commander';
import type { DeploymentChoice } from '../deployment.ts';

/** What every command that works on a deployment takes. */
export type DeploymentOptions = DeploymentChoice & { json?: true };

const WHICH = `
Without --local and --deployment it works on the local start if one is up, else on the deployment Posthaste in AWS.`;

/** `json` says what is printed with `--json`; `examples` are arguments as typed after the command's name. */
export function onDeployment(
  command: Command,
  { json, examples, more = '' }: { json?: string; examples: readonly string[]; more?: string },
): Command {
  if (json !== undefined) command.option('--json', `print JSON: ${json}`);
  return command
    .addOption(new Option('--local', 'on the local start').conflicts('deployment'))
    .addOption(
      new Option('--deployment <NAME>', 'on the deployment with this prefix of its stacks, in AWS').argParser(
        deploymentOf,
      ),
    )
    .addHelpText('after', `${more}${WHICH}${examplesText(examples)}`);
}

export function examplesText(examples: readonly string[]): string {
  return [
    '',
    '',
    `Example${examples.length === 1 ? '' : 's'}:`,
    ...examples.map((args) => `  $ npm run -s posthaste -- ${args}`),
  ].join('\n');
}

/** As the setting `deployment` is: the start of a stack's name. */
function deploymentOf(text: string): string {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(text)) {
    throw new InvalidArgumentError('It takes a letter, then up to 63 letters, digits and hyphens.');
  }
  return text;
}
