import type { DeliveryKey } from './delivery/delivery.ts';

/** A change was not written because concurrent writes kept changing the record. Transient: the caller may retry. */
export class ContendedError extends Error {
  override readonly name = 'ContendedError';

  /** `record`: kind and ids, such as `delivery orders/m-1/s-1`. */
  constructor(record: string) {
    super(`The ${record} kept being changed by concurrent writes.`);
  }
}

export function contendedDelivery({ queue, messageId, subscriptionId }: DeliveryKey): ContendedError {
  return new ContendedError(`delivery ${queue}/${messageId}/${subscriptionId}`);
}

/** Attempts at reading, deciding and writing before giving up. */
const MAX_TRIES = 4;

type Bounds = {
  tries?: number;
  /** Waits before the next attempt. */
  pause?: (tried: number) => Promise<void>;
};

/**
 * Repeats `step` (read, decide, conditional write) until no concurrent write interferes.
 * `step` returns `again` if the record changed meanwhile; so does this function, if that happened on the last
 * attempt.
 */
export async function withRetriedWrites<Result>(
  step: () => Promise<Result | 'again'>,
  { tries = MAX_TRIES, pause }: Bounds = {},
): Promise<Result | 'again'> {
  for (let tried = 1; tried <= tries; tried += 1) {
    const result = await step();
    if (result !== 'again') return result;
    await pause?.(tried);
  }
  return 'again';
}
