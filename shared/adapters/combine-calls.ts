/** A call that waits for the shared request. */
type PendingCall<Result> = { resolve: (result: Result) => void; reject: (error: unknown) => void };

/**
 * Combines calls: all calls with the same key within `gatherMs` share one `call`, which gets the first request and the
 * number of callers. It returns one result for each caller, in their order. Its error rejects all of them.
 */
export function combineCalls<Request, Result>(
  gatherMs: number,
  call: (key: string, asked: Request, count: number) => Promise<readonly Result[]>,
): (key: string, asked: Request) => Promise<Result> {
  const open = new Map<string, PendingCall<Result>[]>();

  const close = async (key: string, asked: Request): Promise<void> => {
    const waiting = open.get(key) ?? [];
    open.delete(key);
    try {
      const results = await call(key, asked, waiting.length);
      waiting.forEach(({ resolve, reject }, index) => {
        const result = results[index];
        if (result === undefined)
          reject(new RangeError(`${results.length} results for ${waiting.length} calls`));
        else resolve(result);
      });
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  };

  return (key, asked) =>
    new Promise((resolve, reject) => {
      const waiting = open.get(key);
      if (waiting !== undefined) {
        waiting.push({ resolve, reject });
        return;
      }
      open.set(key, [{ resolve, reject }]);
      setTimeout(() => void close(key, asked), gatherMs);
    });
}
