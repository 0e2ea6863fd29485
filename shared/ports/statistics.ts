import type { Counters } from '../domain/delivery/statistics.ts';
import type { MessageWindow } from './messages.ts';

/** The counters of a queue in one minute. `at`: its start, in milliseconds since the epoch. */
export type MinuteCounters = { queue: string; at: number; counters: Counters };

/** `refused`: certainly not added, so that another try counts nothing twice. */
export type AddingResult = { kind: 'added' } | { kind: 'refused'; error: Error };

/** Counters per queue and minute, for charts. Best effort: the reconciliation report counts exactly. */
export interface QueueStatistics {
  /**
   * Adds to the counters of a minute. Not idempotent. `expiresAt`: milliseconds since the epoch.
   * @throws if they may have been added
   */
  add(minute: MinuteCounters & { expiresAt: number }): Promise<AddingResult>;
  /** The minutes of a window that have counters, in order. Both ends of the window are whole minutes. */
  minutes(window: MessageWindow): AsyncIterable<Omit<MinuteCounters, 'queue'>>;
}
