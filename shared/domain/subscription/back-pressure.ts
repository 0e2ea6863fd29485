import {
  epochOf,
  epochTime,
  MAX_PER_SECOND,
  type RateLimit,
  rateLimitOf,
  slotIntervalMs,
} from './rate-limit.ts';
import { isPull } from './subscriber-url.ts';
import type { Pressure, Subscription } from './subscription.ts';

const SECOND = 1_000;
const MINUTE = 60_000;

/** One probe at a time: the next one may start after this time if the last one had no result. */
const PROBE_INTERVAL_MS = 30 * SECOND;

const SHORTEST_ASK_AGAIN_MS = 10 * SECOND;
const LONGEST_ASK_AGAIN_MS = 15 * MINUTE;

/** For the wake-up of a delivery that asks again, and its probe. */
const PROBE_DELAY_MS = 2 * MINUTE;

/**
 * How a rate grows: its doubling time. Slots have the rate of their reservation, so the line is no longer than
 * `longestMs`; then deliveries ask again. Tuned by `npm run bench:back-pressure`. Milliseconds.
 */
type Growth = { doublingMs: number; longestMs: number; askAgainMs: number };

/** Until a refusal shows what rate the subscriber takes. */
const RAMP: Growth = {
  doublingMs: 4 * SECOND,
  longestMs: 2 * SECOND,
  askAgainMs: SHORTEST_ASK_AGAIN_MS,
};

/** The line lasts until enough deliveries have asked again, and each asks at most some five times an hour. */
const LEARNED: Growth = {
  doublingMs: 3 * MINUTE,
  longestMs: 10 * MINUTE,
  askAgainMs: LONGEST_ASK_AGAIN_MS,
};

export function growthOf({ learned }: Pressure): Growth {
  return learned ? LEARNED : RAMP;
}

/** Requests a second that a pressure allows at `at`; 0 while the circuit is open. */
export function rateAt(pressure: Pressure, at: number): number {
  const { perSecond, opensAt } = pressure;
  if (perSecond === undefined) return 0;
  const openMs = Math.max(0, at - opensAt);
  return Math.min(MAX_PER_SECOND, perSecond * 2 ** (openMs / growthOf(pressure).doublingMs));
}

/** When a ramp reaches the highest rate. Milliseconds since the epoch. */
export function endOfRamp({ opensAt, perSecond }: { opensAt: number; perSecond: number }): number {
  return opensAt + Math.ceil(RAMP.doublingMs * Math.log2(MAX_PER_SECOND / perSecond));
}

/** Whether there is one probe at a time, and no rate. */
export function isCircuitOpen({ perSecond }: Pressure): boolean {
  return perSecond === undefined;
}

type Paced = Pick<
  Subscription,
  'subscriber' | 'options' | 'createdAt' | 'changedAt' | 'limitedAt' | 'pressure'
>;

/** The pressure in force; undefined: none, or its rate has grown to the highest. */
export function pressureAt(subscription: Paced, now: number): Pressure | undefined {
  const { pressure } = subscription;
  if (pressure === undefined || pressure.ended || isPull(subscription)) return undefined;
  return rateAt(pressure, now) < MAX_PER_SECOND ? pressure : undefined;
}

/**
 * When the episode began, as seen at `at`. An open circuit that no waiting delivery has probed when it would have asked
 * again had no messages since: nothing is known of its subscriber, and the episode begins again.
 */
export function startOfEpisode(pressure: Pressure, at: number): number {
  const { since, opensAt } = pressure;
  const isIdle = at - opensAt > askAgainMsAt(opensAt - since) + PROBE_DELAY_MS;
  return isCircuitOpen(pressure) && isIdle ? at : since;
}

/** The pace of a subscription's requests: its `max_per_second` and its pressure in one. Undefined: unlimited. */
export function paceOf(subscription: Paced, now: number): RateLimit | undefined {
  const pressure = pressureAt(subscription, now);
  if (pressure === undefined) return rateLimitOf(subscription);
  const { reason, opensAt, perSecond } = pressure;
  // The epoch of an open circuit ignores a new limit, which would start another probe beside the one in flight.
  const time = isCircuitOpen(pressure) ? pressure.at : epochTime(subscription);
  const line = { epoch: epochOf(time, perSecond ?? 0), opensAt, reason };
  if (isCircuitOpen(pressure)) {
    const askAgainMs = askAgainMsAt(Math.max(now, opensAt) - startOfEpisode(pressure, now));
    return { ...line, intervalMs: PROBE_INTERVAL_MS, longestMs: 0, askAgainMs };
  }
  const { longestMs, askAgainMs } = growthOf(pressure);
  const limitMs = rateLimitOf(subscription)?.intervalMs ?? 0;
  const intervalMs = Math.max(slotIntervalMs(rateAt(pressure, now)), limitMs);
  return { ...line, intervalMs, longestMs, askAgainMs };
}

/** The longer the outage, the less often, so that a delivery asks few times in all. */
function askAgainMsAt(ageMs: number): number {
  return Math.min(LONGEST_ASK_AGAIN_MS, Math.max(SHORTEST_ASK_AGAIN_MS, Math.round(ageMs / 2)));
}
