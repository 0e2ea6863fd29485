/** Runs at most so many at once, in the order that they came; what was given up before its turn is not begun. */
export function atMost(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  const turn = async (): Promise<void> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
  };
  /** Whoever waits gets the place at once: nobody comes in between. */
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return async <Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> => {
    await turn();
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      leave();
    }
  };
}
