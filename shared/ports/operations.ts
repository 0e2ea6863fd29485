import type { Operation } from '../domain/operation.ts';

/** The queue that feeds `operate`. */
export interface Operations {
  /** `delaySeconds` 0 to 900, by default 0. @throws when it could not be sent */
  send(operation: Operation, delaySeconds?: number): Promise<void>;
}
