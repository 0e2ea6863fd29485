import type { Operation } from '../../../shared/domain/recovery/operation.ts';
import type { Operations } from '../../../shared/ports/queues.ts';

export type OrderedOperation = { operation: Operation; delaySeconds: number };

/** Puts the orders on a list. */
export const inMemoryOperations = (ordered: OrderedOperation[]): Operations => ({
  send: (operation, delaySeconds = 0) => {
    ordered.push(structuredClone({ operation, delaySeconds }));
    return Promise.resolve();
  },
});
