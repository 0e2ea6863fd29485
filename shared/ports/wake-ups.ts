import type { WakeUp } from '../domain/delivery/job.ts';

/** How a delivery is brought back when its next attempt is due. */
export interface WakeUps {
  /** By DelaySeconds on the retry queue, 0 to 900 s. */
  sendDelayed(wakeUp: WakeUp, delaySeconds: number): Promise<void>;
  /**
   * By a one-shot schedule that sends the wake-up to the retry queue at `at` (milliseconds since the epoch).
   * A name already in use counts as scheduled. `refused`: throttled, over quota or otherwise not to be had now.
   */
  schedule(name: string, at: number, wakeUp: WakeUp): Promise<'scheduled' | 'refused'>;
  /**
   * Removes a schedule that nobody needs any more. `refused`: throttled or otherwise not to be had now; it fires then, and
   * finds nothing to do.
   */
  unschedule(name: string): Promise<'removed' | 'absent' | 'refused'>;
}
