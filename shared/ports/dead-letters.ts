import type { UndeliverableNotice } from '../domain/undeliverable.ts';

/** What our own pipeline cannot process, kept as it came with the reason. Never for a subscriber that is down. */
export interface DeadLetters {
  bury(
    original: { body: string; id: string; attributes?: Record<string, string> },
    reason: string,
  ): Promise<void>;
}

/** Deliveries that subscribers refused or that ran out of retries. */
export interface Undeliverables {
  send(notice: UndeliverableNotice): Promise<void>;
}
