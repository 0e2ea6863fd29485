import type { WaitingPlace } from '../domain/delivery/paused.ts';
import { findLastPause, type Pausable } from '../domain/subscription/pause.ts';
import type { Operations } from '../ports/queues.ts';

/**
 * Goes on with the last pause of what is restored: its operation has ended with the deletion, and without a new one what
 * waits from now on would wait for ever. So would what still waits after a pause that has ended. A no-op if it never was
 * paused.
 */
export async function continuePause(
  { operations }: { operations: Operations },
  place: WaitingPlace,
  of: Pausable | undefined,
  delaySeconds: number,
): Promise<void> {
  const pause = findLastPause(of);
  if (pause !== undefined)
    await operations.send({ kind: 'pause', ...place, version: pause.version }, delaySeconds);
}
