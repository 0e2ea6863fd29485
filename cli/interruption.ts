const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** As shells report a program that Ctrl-C ended. */
export const INTERRUPTED = 130;

/** What tells of Ctrl-C: `process`. */
export type Signals = {
  on: (signal: (typeof SIGNALS)[number], listener: () => void) => unknown;
  off: (signal: (typeof SIGNALS)[number], listener: () => void) => unknown;
};

/**
 * Works with a signal that Ctrl-C aborts. A second Ctrl-C changes nothing: under npm one comes as two, since npm passes on
 * what the terminal has sent already.
 */
export async function untilInterrupted<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  signals: Signals = process,
): Promise<Result> {
  const interrupted = new AbortController();
  const abort = (): void => {
    interrupted.abort();
  };
  for (const name of SIGNALS) signals.on(name, abort);
  try {
    return await work(interrupted.signal);
  } finally {
    for (const name of SIGNALS) signals.off(name, abort);
  }
}
