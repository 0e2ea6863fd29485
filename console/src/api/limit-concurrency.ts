/** Returns a runner for at most `count` tasks at once, in order. Tasks aborted while they wait are not started. */
export function limitConcurrency(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  const turn = async (): Promise<void> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
  };
  /** Hands the slot directly to the first waiter, so that a new caller cannot take it. */
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
