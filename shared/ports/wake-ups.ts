import type { WakeUp } from '../domain/delivery/job.ts';

/** Starts deliver for a delivery when its next attempt is due. */
export interface WakeUps {
  /** Sends the wake-up to the retry queue with DelaySeconds, whole, 0 to 900. */
  sendDelayed(wakeUp: WakeUp, delaySeconds: number): Promise<void>;
  /**
   * Creates a one-time schedule that sends the wake-up to the retry queue at `at` (milliseconds since the epoch).
   * An existing name counts as scheduled. `refused`: throttled, over quota or unavailable.
   */
  schedule(name: string, at: number, wakeUp: WakeUp): Promise<'scheduled' | 'refused'>;
  /** Removes an unneeded schedule. `refused`: throttled or unavailable; the schedule then fires without effect. */
  unschedule(name: string): Promise<'removed' | 'absent' | 'refused'>;
}
