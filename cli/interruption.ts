const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** The exit status that shells use for a program ended by Ctrl-C. */
export const INTERRUPTED = 130;

/** The source of Ctrl-C signals: `process`. */
export type Signals = {
  on: (signal: (typeof SIGNALS)[number], listener: () => void) => unknown;
  off: (signal: (typeof SIGNALS)[number], listener: () => void) => unknown;
};

/**
 * Runs the work with a signal that Ctrl-C aborts. Further Ctrl-C signals are ignored: under npm, one Ctrl-C arrives
 * twice, from the terminal and forwarded by npm.
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
