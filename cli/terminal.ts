import { setMaxListeners } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { styleText } from 'node:util';
import { untilInterrupted, type Signals } from './interruption.ts';
import { printableJson, type Style } from './output/text.ts';

/** The parts of `process` that a run of the command uses; tests pass a substitute. */
export type ProcessLike = Signals & {
  env: NodeJS.ProcessEnv;
  stdin: Readable & { isTTY?: boolean };
  stdout: Output;
  stderr: Output;
};

export type Output = Writable & {
  isTTY?: boolean;
  columns?: number;
  /** Bits per pixel, by the kind of terminal and the variables NO_COLOR and FORCE_COLOR. */
  getColorDepth?: (env: NodeJS.ProcessEnv) => number;
};

/** Milliseconds. @throws AbortError once the signal is aborted */
export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export const systemSleep: Sleep = (milliseconds, signal) =>
  pause(milliseconds, undefined, signal === undefined ? {} : { signal });

/** Input, output, sleep and exit status of a command, in place of Node's globals. */
export type Terminal = Pick<ProcessLike, 'env' | 'stdin' | 'stdout' | 'stderr'> & {
  sleep: Sleep;
  /** The exit status unless the command throws. */
  exitStatus: number;
  /** Aborted once the reader of stdout has closed it (`posthaste … | head`): a command that only prints can stop. */
  readerLeft: AbortSignal;
  /** Prints a line on stdout. */
  print: (line: string) => void;
  /** Prints a JSON value as one line on stdout. */
  printJson: (value: unknown) => void;
  /** Prints a value as JSON if `--json` is given, and otherwise its text. */
  printResult: (options: { json?: true | undefined }, value: unknown, text: () => string) => void;
  /** Prints a line on stderr. */
  printError: (line: string) => void;
  /** Text for stdout in a colour, if stdout is a terminal that has colours or FORCE_COLOR is set. */
  styled: Style;
  /** Asks on stderr, and returns the typed line; undefined without a terminal. */
  ask: (question: string) => Promise<string | undefined>;
  /** Asks for a yes; undefined without a terminal. */
  confirm: (question: string) => Promise<boolean | undefined>;
  /** Runs the work with a signal that is aborted by Ctrl-C, or when stdout is closed. `again`: at a second Ctrl-C. */
  untilInterrupted: <Result>(
    work: (signal: AbortSignal) => Promise<Result>,
    again?: () => void,
  ) => Promise<Result>;
  /** Waits until all output is written; false if some could not be, which is also reported on stderr. */
  allWritten: () => Promise<boolean>;
};

export function terminalIn(host: ProcessLike, sleep = systemSleep): Terminal {
  const { env, stdout, stderr } = host;
  const stdoutClosed = new AbortController();
  const readerLeft = stdoutClosed.signal;
  setMaxListeners(0, readerLeft);
  let isLost = false;
  const printError = (line: string): void => {
    stderr.write(`${line}\n`);
  };
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    stdoutClosed.abort();
    // The reader closed the pipe, such as `head`: not a failure.
    if (error.code === 'EPIPE') return;
    isLost = true;
    printError(`posthaste: the output could not be written: ${error.message}`);
  });
  stderr.on('error', () => {
    // Nothing more can be printed; only the exit status shows it.
    isLost = true;
  });
  const ask = async (question: string): Promise<string | undefined> => {
    if (stderr.isTTY !== true || host.stdin.isTTY !== true) return undefined;
    stderr.write(question);
    const lines = createInterface({ input: host.stdin });
    // The iterator of lines would start to read again after its end, and the process would wait for input.
    const { promise, resolve } = Promise.withResolvers<string>();
    lines.once('line', resolve);
    lines.once('close', () => {
      resolve('');
    });
    const line = await promise;
    lines.close();
    return line;
  };
  const print = (line: string): void => {
    stdout.write(`${line}\n`);
  };
  const printJson = (value: unknown): void => {
    print(printableJson(JSON.stringify(value)));
  };
  return {
    env,
    // A getter: Node opens stdin on first access, and most commands never read it.
    get stdin() {
      return host.stdin;
    },
    stdout,
    stderr,
    sleep,
    exitStatus: 0,
    readerLeft,
    print,
    printJson,
    printResult: ({ json }, value, text) => {
      if (json === true) printJson(value);
      else print(text());
    },
    printError,
    styled: (colour, text) =>
      hasColours(stdout, env) ? styleText(colour, text, { validateStream: false }) : text,
    ask,
    confirm: async (question) => {
      const answer = await ask(`${question} [y/N] `);
      return answer === undefined ? undefined : /^y(?:es)?$/i.test(answer.trim());
    },
    untilInterrupted: (work, again) =>
      untilInterrupted((interrupted) => work(AbortSignal.any([interrupted, readerLeft])), host, again),
    allWritten: async () => {
      for (const stream of [stdout, stderr]) {
        const { promise, resolve } = Promise.withResolvers<unknown>();
        // Resolves after earlier writes; errors are handled by the stream's error event.
        stream.write('', resolve);
        await promise;
      }
      return !isLost;
    },
  };
}

function hasColours(stdout: Output, env: NodeJS.ProcessEnv): boolean {
  if (stdout.isTTY === true) return (stdout.getColorDepth?.(env) ?? 1) > 1;
  return (env['FORCE_COLOR'] ?? '0') !== '0';
}
