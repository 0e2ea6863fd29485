import type { WaitingPlace } from '../domain/delivery/paused.ts';
import { findPause, type Pausable } from '../domain/subscription/pause.ts';
import type { Clock } from '../ports/clock.ts';
import type { Operations } from '../ports/queues.ts';

/**
 * Goes on with the pause of what is restored: its operation has ended with the deletion, and without a new one what waits
 * from now on would wait for ever. A no-op if it is not paused.
 */
export async function continuePause(
  { clock, operations }: { clock: Pick<Clock, 'now'>; operations: Operations },
  place: WaitingPlace,
  of: Pausable | undefined,
  delaySeconds: number,
): Promise<void> {
  const pause = findPause(of, clock.now());
  if (pause !== undefined)
    await operations.send({ kind: 'pause', ...place, version: pause.version }, delaySeconds);
}
