/** Results of `work` in the order of the items, at most `limit` items at a time. Rejects with the first error. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/** Returns a runner for at most `count` tasks at once, in order. Tasks aborted while they wait are not started. */
export function limitConcurrency(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  return async <Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      // Hands the slot directly to the first waiter, so that a new caller cannot take it.
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
