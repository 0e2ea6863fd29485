const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Works with a signal that Ctrl-C aborts. A second Ctrl-C changes nothing: under npm one comes as two, since npm passes
 * on what the terminal has sent already.
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
    return await work(interrupted.signal);
  } finally {
    for (const name of SIGNALS) process.off(name, abort);
  }
};
