import { epochTime, MAX_PER_SECOND, type RateLimit, rateLimitOf, slotIntervalMs } from './rate-limit.ts';
import { isPull } from './subscriber-url.ts';
import type { Pressure, Subscription } from './subscription.ts';

const SECOND = 1_000;
const MINUTE = 60_000;

/** Rate at which a ramp ends, unless `max_per_second` is lower. */
const RAMP_TOP_PER_SECOND = 200;

/** Without a refusal, an episode ends after this time. */
const LONGEST_QUIET_MS = 10 * MINUTE;

/** One probe at a time: the next one may start after this time if the last one had no result. */
const PROBE_INTERVAL_MS = 30 * SECOND;

const SHORTEST_ASK_AGAIN_MS = 10 * SECOND;
const LONGEST_ASK_AGAIN_MS = 15 * MINUTE;

/** At a learned rate the line of a minute must not run empty for long, however old the episode is. */
const LONGEST_ASK_AGAIN_LEARNED_MS = 3 * MINUTE;

/** For the wake-up of a delivery that asks again, and its probe. */
const PROBE_DELAY_MS = 2 * MINUTE;

/**
 * Doubling time of the rate, and length of the line: slots have the rate of their reservation, so a line that is
 * longer than the doubling time would fall behind. Tuned by `npm run bench:back-pressure`. Milliseconds.
 */
type Growth = { doublingMs: number; longestMs: number };

const SLOW_START: Growth = { doublingMs: 4 * SECOND, longestMs: 2 * SECOND };
const RAMP: Growth = { doublingMs: 10 * SECOND, longestMs: 10 * SECOND };
const LEARNED: Growth = { doublingMs: 3 * MINUTE, longestMs: MINUTE };

export function growthOf({ reason, learned }: Pressure): Growth {
  if (learned) return LEARNED;
  return reason === 'circuit_open' ? RAMP : SLOW_START;
}

/** Requests a second that a pressure allows at `at`; 0 while the circuit is open. */
export function rateAt(pressure: Pressure, at: number): number {
  const { perSecond = 0, opensAt } = pressure;
  const openMs = Math.max(0, at - opensAt);
  return Math.min(MAX_PER_SECOND, perSecond * 2 ** (openMs / growthOf(pressure).doublingMs));
}

/** Whether there is one probe at a time, and no rate. */
export function isCircuitOpen({ perSecond }: Pressure): boolean {
  return perSecond === undefined;
}

type Paced = Pick<
  Subscription,
  'subscriber' | 'options' | 'createdAt' | 'changedAt' | 'limitedAt' | 'pressure'
>;

/** The pressure in force; undefined: none, or over. An open circuit closes only by a successful probe. */
export function pressureAt(subscription: Paced, now: number): Pressure | undefined {
  const { pressure } = subscription;
  if (pressure === undefined || pressure.ended || isPull(subscription)) return undefined;
  if (isCircuitOpen(pressure) || now < pressure.opensAt) return pressure;
  const isOver =
    now - pressure.opensAt >= LONGEST_QUIET_MS ||
    rateAt(pressure, now) >= rateAtEnd(pressure, subscription.options.max_per_second);
  return isOver ? undefined : pressure;
}

/** A subscriber that throttles at its `max_per_second` needs the pressure there too. */
function rateAtEnd({ reason }: Pressure, maxPerSecond = MAX_PER_SECOND): number {
  return reason === 'circuit_open' ? Math.min(maxPerSecond, RAMP_TOP_PER_SECOND) : MAX_PER_SECOND;
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
  const { reason, opensAt, perSecond, learned } = pressure;
  const line = { epoch: `${epochTime(subscription)}/${perSecond ?? 0}`, opensAt, reason };
  const askAgainMs = Math.min(
    learned ? LONGEST_ASK_AGAIN_LEARNED_MS : LONGEST_ASK_AGAIN_MS,
    askAgainMsAt(Math.max(now, opensAt) - startOfEpisode(pressure, now)),
  );
  if (isCircuitOpen(pressure)) return { ...line, intervalMs: PROBE_INTERVAL_MS, longestMs: 0, askAgainMs };
  const { longestMs } = growthOf(pressure);
  const intervalMs = slotIntervalMs(rateAt(pressure, now));
  const limitMs = rateLimitOf(subscription)?.intervalMs ?? 0;
  return { ...line, intervalMs: Math.max(intervalMs, limitMs), longestMs, askAgainMs };
}

/** The longer the episode, the less often, so that a delivery asks few times in all. */
function askAgainMsAt(ageMs: number): number {
  return Math.min(LONGEST_ASK_AGAIN_MS, Math.max(SHORTEST_ASK_AGAIN_MS, Math.round(ageMs / 2)));
}
