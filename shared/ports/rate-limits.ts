import type { RateLimit, Slot } from '../domain/rate-limit.ts';

/** Whose requests are limited. */
export type Limited = { queue: string; subscriptionId: string };

/** The lines of subscriptions that limit the rate of their requests. */
export interface RateLimits {
  /**
   * The next slot that nobody has, reserved for the caller alone; where the line is too long, one without an epoch, which says
   * when to ask again. It is too long for a message that expires (`until`, milliseconds since the epoch) before its turn. Whoever does not use a slot need not give it back: the line is as fast as its limit, not faster.
   */
  reserve(limited: Limited, limit: RateLimit, until?: number): Promise<Slot>;
}
