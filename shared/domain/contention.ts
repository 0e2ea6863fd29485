/** A change was not written because concurrent writes kept changing the record. Transient: the caller may retry. */
export class ContendedError extends Error {
  override readonly name = 'ContendedError';
  readonly isTransient = true;

  /** `record`: kind and ids, such as `delivery orders/m-1/s-1`. */
  constructor(record: string) {
    super(`The ${record} kept being changed by concurrent writes.`);
  }
}

/** For `withRetriedWrites`. @throws ContendedError, when it is called */
export function contended(record: string): () => never {
  return () => {
    throw new ContendedError(record);
  };
}

/** Attempts at reading, deciding and writing before giving up. */
const MAX_TRIES = 4;

/**
 * Repeats `step` (read, decide, conditional write) until no concurrent write interferes. `step` returns `again` if the
 * record changed meanwhile; if that happens on the last attempt, `giveUp` decides the result, or throws. `pause` waits
 * before the next attempt.
 */
export async function withRetriedWrites<Result>(
  step: () => Promise<Result | 'again'>,
  giveUp: () => Result,
  { tries = MAX_TRIES, pause }: { tries?: number; pause?: (tried: number) => Promise<void> } = {},
): Promise<Result> {
  for (let tried = 1; tried <= tries; tried += 1) {
    const result = await step();
    if (result !== 'again') return result;
    await pause?.(tried);
  }
  return giveUp();
}
