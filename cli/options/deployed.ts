import { type Argument, type Command, Option } from 'commander';
import type { ApiClient } from '../../api-client/api-client.ts';
import { START } from '../../local/command-name.ts';
import { Problem } from '../../local/install/problem.mjs';
import type { Terminal } from '../terminal.ts';
import { option } from './arguments.ts';
import { addMore, type DeploymentOptions, parseDeployment } from './deployment-options.ts';

/** Adds what a command takes and does to the command that has its name. */
export type AddTo = (command: Command, terminal: Terminal) => void;

/** Ends the command with a usage error. */
export type Refuse = (fault: string) => never;

type Given<Options> = {
  options: Options & DeploymentOptions;
  terminal: Terminal;
  refuse: Refuse;
};

/**
 * Asks before a change, unless `--yes` is given. `to`: what the change is for, where there is no terminal to ask on.
 * @throws Problem if the answer is no
 */
export async function requireYes(
  { options, terminal, refuse }: Given<{ yes?: true }>,
  { question, to, ifNot }: Record<'question' | 'to' | 'ifNot', string>,
): Promise<void> {
  const isConfirmed = options.yes === true || (await terminal.confirm(question));
  if (isConfirmed === undefined) refuse(`to ${to}, add --yes`);
  if (!isConfirmed) throw new Problem(ifNot);
}

/** The value for `--json`, and its text; undefined: all is printed. */
export type Result = readonly [value: unknown, text: () => string] | undefined;

/** What a command takes and does. Actions get the arguments as they were typed, once they are parsed. */
type Declaration<Options> = {
  /** Of a command without subcommands, it is in run-command.ts. */
  description?: string;
  arguments?: readonly Argument[];
  options?: readonly Option[];
  /** Describes the `--json` output. */
  json?: string;
  /** Help that follows the options. */
  more?: string;
  /** Arguments to type. */
  examples: readonly string[];
} & (
  | { read(given: Given<Options> & { api: ApiClient }, ...words: string[]): Promise<Result> }
  | { write(given: Given<Options> & { api: ApiClient }, ...words: string[]): Promise<Result> }
  // Opens what it needs by itself.
  | { run(given: Given<Options>, ...words: string[]): Result | Promise<Result> }
);

/** A command on a deployment. */
export function deployed<Options = unknown>(declaration: Declaration<Options>): AddTo {
  return declared(declaration, CHOICE, WHICH);
}

/** A command that needs no deployment. */
export function standalone<Options = unknown>(
  declaration: Extract<Declaration<Options>, { run: unknown }>,
): AddTo {
  return declared(declaration, [], '');
}

/** `common`, `commonMore`: options and help of all commands of the kind. */
function declared<Options>(
  declaration: Declaration<Options>,
  common: readonly Option[],
  commonMore: string,
): AddTo {
  const { description, arguments: words = [], options = [], json, more = '', examples } = declaration;
  return (command, terminal) => {
    if (description !== undefined) command.description(description);
    for (const word of words) command.addArgument(word);
    // A copy, because completion gives some options their choices.
    for (const option of options) command.addOption(Object.assign(new Option(option.flags), option));
    if (json !== undefined) command.option('--json', `print JSON: ${json}`);
    for (const option of common) command.addOption(option);
    addMore(command, more + commonMore, examples);
    command.action(() => act(declaration, command, terminal));
  };
}

const WHICH = `
Without --local or --deployment, the command uses the local deployment if it is
up (${START}), and otherwise the one in AWS: Posthaste, or the only
one there is. If POSTHASTE_API_URL is set, API requests go to that URL unless
--local is given, and commands on dead letters need --local or --deployment.`;

const CHOICE = [
  option('--local', `use the local deployment (${START})`).conflicts('deployment'),
  option('--deployment <NAME>', 'use the deployment in AWS of this name', parseDeployment),
];

async function act<Options>(
  declaration: Declaration<Options>,
  command: Command,
  terminal: Terminal,
): Promise<void> {
  const options = command.opts<Options & DeploymentOptions>();
  const refuse = (fault: string): never => command.error(`error: ${fault}`);
  const given = { options, terminal, refuse };
  const result = await ('run' in declaration
    ? declaration.run(given, ...command.args)
    : actOnApi(declaration, given, command.args));
  if (result !== undefined) terminal.printResult(options, ...result);
}

async function actOnApi<Options>(
  declaration: Exclude<Declaration<Options>, { run: unknown }>,
  given: Given<Options>,
  words: readonly string[],
): Promise<Result> {
  const { options, terminal } = given;
  // Loaded only here: help and commands without a deployment sign no request.
  const { openApi, openApiToWrite } = await import('../api/api-access.ts');
  return 'read' in declaration
    ? declaration.read({ ...given, api: await openApi(options, terminal) }, ...words)
    : declaration.write({ ...given, api: await openApiToWrite(options, terminal) }, ...words);
}

/** A command with these subcommands. */
export function group(subcommands: Readonly<Record<string, AddTo>>): AddTo {
  return (command, terminal) => {
    for (const [name, addTo] of Object.entries(subcommands)) addTo(command.command(name), terminal);
  };
}
