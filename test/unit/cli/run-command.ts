import { execFileSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { awsEnvironment, plainEnvironment, type RootKeys } from '../../../local/local-aws.ts';
import { runCommand } from '../../../cli/run-command.ts';
import { systemSleep, type Sleep } from '../../../cli/terminal.ts';

/** What a command has printed, and its exit status. */
export class Run {
  status = 0;
  stdout = '';
  stderr = '';

  /** The JSON lines on stdout. */
  get lines(): unknown[] {
    return jsonLines(this.stdout);
  }
}

export type RunOptions = {
  env?: NodeJS.ProcessEnv;
  /** The content of stdin. */
  input?: string | Buffer;
  /** Called after the start; must write stdin itself. */
  onStart?: (command: RunningCommand) => void;
};

export type RunningCommand = {
  stdin: PassThrough;
  stdout: PassThrough;
  stderr: PassThrough;
  /** Simulates Ctrl-C. */
  interrupt: () => void;
};

/** A command line: text is split at its blanks. */
export type Line = string | readonly string[];

/** Runs the command in this process. */
export const posthaste = async (
  line: Line,
  { env = plainEnvironment(), input = '', onStart }: RunOptions = {},
): Promise<Run> => {
  const host = captured(env);
  const { stdin, stdout, stderr } = host;
  const written = Promise.all([text(stdout), text(stderr)]);
  return withSdkVariables(env, async () => {
    const ended = runCommand(wordsOf(line), host, sleepBriefly);
    if (onStart === undefined) stdin.end(input);
    else {
      const interrupt = (): void => {
        if (!host.emit('SIGINT')) throw new Error('The command does not handle Ctrl-C now.');
      };
      onStart({ stdin, stdout, stderr, interrupt });
    }
    const status = await ended;
    stdout.end();
    stderr.end();
    const [printed, said] = await written;
    return Object.assign(new Run(), { status, stdout: printed, stderr: said });
  });
};

export const wordsOf = (line: Line): readonly string[] => (typeof line === 'string' ? line.split(' ') : line);

/** Options of a run that `press` interrupts, as Ctrl-C does. `pressing`: gives the answer after it. */
export const ctrlC = () => {
  let interrupt = (): void => undefined;
  const press = (): void => {
    interrupt();
  };
  const pressing =
    <Answer>(answer: Answer) =>
    (): Answer => {
      press();
      return answer;
    };
  const onStart = (command: RunningCommand): void => {
    ({ interrupt } = command);
  };
  return { press, pressing, options: { onStart } };
};

/** Options of a run on a terminal, where the answer is typed once the question is there; `undefined` closes it. */
export const answering = (answer: string | undefined, question = '[y/N]'): RunOptions => ({
  onStart: ({ stdin, stderr }) => {
    Object.assign(stdin, { isTTY: true });
    Object.assign(stderr, { isTTY: true });
    stderr.on('data', (text: Buffer) => {
      if (!text.toString().includes(question)) return;
      if (answer === undefined) stdin.end();
      else stdin.write(`${answer}\n`);
    });
  },
});

/**
 * Does the work with the variables that the AWS SDK reads from `process.env`; so only one run at a time is possible.
 */
export const withSdkVariables = async <Result>(
  env: NodeJS.ProcessEnv,
  work: () => Promise<Result>,
): Promise<Result> => {
  const before = sdkVariables(process.env);
  replaceSdkVariables(env);
  try {
    return await work();
  } finally {
    replaceSdkVariables(before);
  }
};

export const replaceSdkVariables = (env: NodeJS.ProcessEnv): void => {
  for (const name of Object.keys(sdkVariables(process.env))) Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, sdkVariables(env));
};

const sdkVariables = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('AWS_') || name === 'HOME'));

/** Shortens all waits: the stubs are on loopback and respond at once. */
export const sleepBriefly: Sleep = (milliseconds, signal) => systemSleep(milliseconds / 100, signal);

/** Every command without subcommands, such as `queue list`, by its words. */
export const leavesOf = (
  command: Command,
  words: readonly string[] = [],
): { words: readonly string[]; command: Command }[] =>
  command.commands.length === 0
    ? [{ words, command }]
    : command.commands.flatMap((inner) => leavesOf(inner, [...words, inner.name()]));

/** A substitute for `process` that captures the output. */
export const captured = (env: NodeJS.ProcessEnv = {}) =>
  Object.assign(new EventEmitter(), {
    env,
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  });

/** Keys for services that do not check them. */
export const ANY_KEYS: RootKeys = { accessKeyId: 'test', secretAccessKey: 'test' };

/** The environment for a command that can reach this API, but not AWS. */
export const apiEnvironment = (apiUrl: string, keys: RootKeys = ANY_KEYS): NodeJS.ProcessEnv => ({
  ...plainEnvironment(),
  ...awsEnvironment('http://127.0.0.1:9', keys),
  POSTHASTE_API_URL: apiUrl,
});

/** Parses JSON lines. */
export const jsonLines = (text: string): unknown[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));

/** The words into which a shell splits a line. */
export const shellWords = (line: string): string[] =>
  execFileSync('sh', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);
