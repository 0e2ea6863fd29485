import { setMaxListeners } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { untilInterrupted, type Signals } from './interruption.ts';
import { printableJson } from './output/printable.ts';

/** What a run of the command has around it: `process`, or what a test gives in its place. */
export type Surroundings = Signals & {
  env: NodeJS.ProcessEnv;
  stdin: Readable & { isTTY?: boolean };
  stdout: Output;
  stderr: Output;
};

export type Output = Writable & { isTTY?: boolean; columns?: number };

/** Milliseconds. @throws AbortError once the signal is aborted */
export type Sleep = (milliseconds: number, signal?: AbortSignal) => Promise<void>;

export const systemSleep: Sleep = (milliseconds, signal) =>
  pause(milliseconds, undefined, signal === undefined ? {} : { signal });

/** What commands read, print to, wait by and end with, in place of the globals of Node. */
export type Terminal = Pick<Surroundings, 'env' | 'stdin' | 'stdout' | 'stderr'> & {
  sleep: Sleep;
  /** The exit status of a command that does not fail. */
  exitStatus: number;
  /** Aborted once stdout has no reader any more (`posthaste … | head`): a command that goes on printing may stop. */
  readerLeft: AbortSignal;
  /** A line on stdout. */
  print: (line: string) => void;
  /** One JSON value on a line of its own, for programs. */
  printJson: (value: unknown) => void;
  /** A line on stderr. */
  printError: (line: string) => void;
  /** Works with a signal that Ctrl-C aborts, and so does a reader that has left. */
  untilInterrupted: <Result>(work: (signal: AbortSignal) => Promise<Result>) => Promise<Result>;
  /** Waits until all output is written. False: some could not be, which is told on stderr. */
  allWritten: () => Promise<boolean>;
};

export function terminalIn(surroundings: Surroundings, sleep = systemSleep): Terminal {
  const { env, stdout, stderr } = surroundings;
  const leaving = new AbortController();
  const readerLeft = leaving.signal;
  setMaxListeners(0, readerLeft);
  let isLost = false;
  const printError = (line: string): void => {
    stderr.write(`${line}\n`);
  };
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    leaving.abort();
    // A reader that has seen enough is no failure.
    if (error.code === 'EPIPE') return;
    isLost = true;
    printError(`posthaste: the output could not be written: ${error.message}`);
  });
  stderr.on('error', () => {
    // There is nowhere left to say it; the exit status still tells.
    isLost = true;
  });
  const print = (line: string): void => {
    stdout.write(`${line}\n`);
  };
  return {
    env,
    // Node opens stdin when it is asked for it, which most commands never do.
    get stdin() {
      return surroundings.stdin;
    },
    stdout,
    stderr,
    sleep,
    exitStatus: 0,
    readerLeft,
    print,
    printJson: (value) => {
      print(printableJson(JSON.stringify(value)));
    },
    printError,
    untilInterrupted: (work) =>
      untilInterrupted((interrupted) => work(AbortSignal.any([interrupted, readerLeft])), surroundings),
    allWritten: async () => {
      await written(stdout);
      await written(stderr);
      return !isLost;
    },
  };
}

/** Errors are told by the stream's event. */
function written(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => {
      resolve();
    });
  });
}
