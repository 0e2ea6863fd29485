import type { DeliveryKey } from './delivery/delivery.ts';

/** A record that others kept changing: this change was not made. Transient: the caller may try again. */
export class ContendedError extends Error {
  override readonly name = 'ContendedError';

  /** `record`: kind and ids, such as `delivery orders/m-1/s-1`. */
  constructor(record: string) {
    super(`The ${record} kept being changed by others.`);
  }
}

export function contendedDelivery({ queue, messageId, subscriptionId }: DeliveryKey): ContendedError {
  return new ContendedError(`delivery ${queue}/${messageId}/${subscriptionId}`);
}

/** How often a record may change between a read and the write that follows from it. */
const MOST_TRIES = 4;

type Bounds = {
  tries?: number;
  /** Waits before the next try. */
  pause?: (tried: number) => Promise<void>;
};

/**
 * Makes a conditional write until no other write comes in between: `step` reads, decides and writes. `again`, from it: the
 * record changed meanwhile; from here: it still did at the last try.
 */
export async function withRetriedWrites<Result>(
  step: () => Promise<Result | 'again'>,
  { tries = MOST_TRIES, pause }: Bounds = {},
): Promise<Result | 'again'> {
  for (let tried = 1; tried <= tries; tried += 1) {
    const result = await step();
    if (result !== 'again') return result;
    await pause?.(tried);
  }
  return 'again';
}
