import { START } from './storm-world.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** What happens when, and how long it takes. Times are milliseconds since the epoch. */
export const timeline = {
  /** All messages of the outage are published from the start on, within so many milliseconds. */
  publishedWithinMs: 2 * SECOND,
  /** How long a retry waits: more than two hops by SQS. */
  retryDelayMs: 40 * MINUTE,
  backAt: START + 20 * MINUTE,
  /** Others publish one message after another, from a moment before the first retry is due. */
  othersFrom: START + 40 * MINUTE - 5 * SECOND,
  othersApartMs: 50,
  /** Of every minute: when a storm that begins with the minute has been going on for longer than anything may be overdue. */
  reconcileAtMs: 45 * SECOND,
  reconcileUntil: START + 60 * MINUTE,
  overAt: START + 120 * MINUTE,
} as const;

export const othersSentAt = (index: number): number => timeline.othersFrom + index * timeline.othersApartMs;

export const addresses = { stricken: 'https://stricken.test/hook', others: 'https://others.test/hook' };

/** How long the stricken subscriber takes to answer when it is back. It is why concurrency is what bounds the rate. */
export const ANSWER_MS = SECOND;

export const manners = {
  [addresses.stricken]: (now: number) =>
    now < timeline.backAt ? { statusCode: 503, takesMs: 5 } : { statusCode: 200, takesMs: ANSWER_MS },
  [addresses.others]: () => ({ statusCode: 200, takesMs: 100 }),
};
