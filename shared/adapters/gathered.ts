/** A call that waits for the shared request. */
type PendingCall<Result> = { resolve: (result: Result) => void; reject: (error: unknown) => void };

/**
 * Combines calls: all calls with the same key within `gatherMs` share one `call`, which gets their number. `call`
 * returns as many results, in the order of the callers. An error of `call` rejects every one of them.
 */
export function combineCalls<Asked, Result>(
  gatherMs: number,
  call: (key: string, asked: Asked, count: number) => Promise<readonly Result[]>,
): (key: string, asked: Asked) => Promise<Result> {
  const open = new Map<string, PendingCall<Result>[]>();

  const close = async (key: string, asked: Asked): Promise<void> => {
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
