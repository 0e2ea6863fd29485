import { readerLeft } from './output/lost-output.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** As shells report a program that Ctrl-C ended. */
export const INTERRUPTED = 130;

/**
 * Works with a signal that Ctrl-C aborts, and so does a reader that has gone. A second Ctrl-C changes nothing: under npm one
 * comes as two, since npm passes on what the terminal has sent already.
 */
export const untilInterrupted = async <Result>(
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> => {
  const interrupted = new AbortController();
  const abort = (): void => {
    interrupted.abort();
  };
  for (const name of SIGNALS) process.on(name, abort);
  try {
    return await work(AbortSignal.any([interrupted.signal, readerLeft]));
  } finally {
    for (const name of SIGNALS) process.off(name, abort);
  }
};
