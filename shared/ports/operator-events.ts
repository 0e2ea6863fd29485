import type { OperatorEvent } from '../domain/operator-event.ts';

/** At least once: whoever listens recognises a copy by what it says. */
export interface OperatorEvents {
  /** @throws when it could not be sent */
  publish(event: OperatorEvent): Promise<void>;
}
