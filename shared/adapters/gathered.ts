/** A call that waits for others like it. */
type Waiting<Result> = { resolve: (result: Result) => void; reject: (error: unknown) => void };

/**
 * Makes one call of those that come within `gatherMs` under the same key: `call` gets how many they are, and answers with as
 * many results, handed out in the order in which they came. Where it throws, each of them does.
 */
export function gathered<Asked, Result>(
  gatherMs: number,
  call: (key: string, asked: Asked, count: number) => Promise<readonly Result[]>,
): (key: string, asked: Asked) => Promise<Result> {
  const open = new Map<string, Waiting<Result>[]>();

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
