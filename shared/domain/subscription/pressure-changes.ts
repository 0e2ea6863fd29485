import type { NextAttempt } from '../delivery/delivery.ts';
import { type Reply, TOO_MANY_REQUESTS } from '../delivery/outcome.ts';
import type { RetryPolicy } from '../retry/policy.ts';
import { retrySchedule } from '../retry/schedule.ts';
import { growthOf, isCircuitOpen, pressureAt, rateAt, startOfEpisode } from './back-pressure.ts';
import { MAX_PER_SECOND, rateLimitOf, timeOfNewEpoch } from './rate-limit.ts';
import type { PendingEvent, Pressure, Subscription } from './subscription.ts';

/** A conditional write of the pressure. `from`: version that the request was sent under; undefined: none. */
export type PressureChange = {
  kind: 'pressure';
  from: number | undefined;
  pressure: Pressure;
  unsent?: PendingEvent;
  changedAt?: number;
};

/** What a reply says about the subscriber. `up`: it answers requests, even if it refuses this one. */
export type PressureSignal = 'throttled' | 'down' | 'up';

const DOWN_STATUSES: readonly number[] = [502, 503, 504];

/** Undefined: the reply says nothing, such as a DNS or TLS fault. */
export function pressureSignalOf(reply: Reply): PressureSignal | undefined {
  switch (reply.kind) {
    case 'forbidden':
      return undefined;
    case 'unanswered':
      return reply.error === 'timeout' || reply.error === 'connection_refused' ? 'down' : undefined;
    case 'answered': {
      const asksToWait = reply.statusCode === 503 && reply.retryAfter !== undefined;
      if (reply.statusCode === TOO_MANY_REQUESTS || asksToWait) return 'throttled';
      return DOWN_STATUSES.includes(reply.statusCode) ? 'down' : 'up';
    }
  }
}

const SECOND = 1_000;

/** Wait after a refusal without a usable `Retry-After`; also the shortest wait for a probe. */
const SHORTEST_CLOSED_MS = SECOND;

/** Rate after the first refusal. */
const SLOW_START_PER_SECOND = 2;

/** Rate after a successful probe. */
const RAMP_PER_SECOND = 1;

/** Factor from the rate of the refused request to the next one. */
const LEARNED_SHARE = 0.9;

/** The least rate that refusals lead to: one request in ten seconds tests the subscriber often enough. */
const LEAST_PER_SECOND = 0.1;

/** Time between two probes of an open circuit, as a share of the outage's age. */
const PROBE_SHARE = 1 / 10;

/** A refused request: a 429, or a 503 with `Retry-After`. `retryAfterMs`: capped; 0: not given. */
type Refused = { startedAt: number; now: number; retryAfterMs: number };

/** Closes the line until the time that the subscriber asks for. */
export function pressureAfterRefusal(subscription: Subscription, refused: Refused): PressureChange {
  const { startedAt, now, retryAfterMs } = refused;
  const current = pressureAt(subscription, startedAt);
  const rate = rateAfterRefusal(subscription, current, startedAt);
  const opensAt = now + Math.max(SHORTEST_CLOSED_MS, retryAfterMs, Math.ceil(SECOND / rate.perSecond));
  return slow(subscription, current, refused, { reason: 'receiver_throttled', opensAt, ...rate });
}

function rateAfterRefusal(
  { options: { max_per_second = MAX_PER_SECOND } }: Subscription,
  current: Pressure | undefined,
  startedAt: number,
): { perSecond: number; learned?: true } {
  if (current?.perSecond === undefined) return { perSecond: SLOW_START_PER_SECOND };
  const { perSecond, learned } = current;
  // Refused soon after it opened: that says little about the rate.
  if (!learned && rateAt(current, startedAt) < 2 * perSecond) return { perSecond: atLeast(perSecond / 2) };
  // In a full line, the slot of the request was reserved as long ago as the line is long.
  const laidAt = startedAt - (learned ? 0 : growthOf(current).longestMs);
  const rateOfSlot = Math.min(max_per_second, rateAt(current, laidAt));
  return { perSecond: atLeast(LEARNED_SHARE * rateOfSlot), learned: true };
}

function atLeast(perSecond: number): number {
  return Math.max(LEAST_PER_SECOND, Math.round(100 * perSecond) / 100);
}

/**
 * A request that found the subscriber down. `isTripped`: by the latest results, its circuit is to be open.
 * `nextAttempt`: that of the failed delivery; undefined: it is exhausted.
 */
type FoundDown = {
  startedAt: number;
  now: number;
  isTripped: boolean;
  nextAttempt: Pick<NextAttempt, 'dueAt'> | undefined;
  policy: RetryPolicy;
  retryAfterCapMs: number;
};

/** Opens the circuit, or keeps it open after a failed probe. Undefined: no change. */
export function pressureAfterOutage(subscription: Subscription, down: FoundDown): PressureChange | undefined {
  const { startedAt, now, isTripped } = down;
  const current = pressureAt(subscription, startedAt);
  const isProbe = current !== undefined && isCircuitOpen(current);
  if (!isProbe && !isTripped) return undefined;
  const opensAt =
    now + Math.ceil(probeDelayMs(now - (isProbe ? startOfEpisode(current, startedAt) : now), down));
  return slow(subscription, current, down, { reason: 'circuit_open', opensAt });
}

/**
 * When the next probe may start: at the failed delivery's next attempt, but not at once, and after a long outage not
 * as often as a new message's first retries.
 */
function probeDelayMs(ageMs: number, { now, nextAttempt, policy, retryAfterCapMs }: FoundDown): number {
  const lastDelayMs = (retrySchedule(policy).at(-1)?.delaySeconds ?? 0) * SECOND;
  const wantedMs = nextAttempt === undefined ? lastDelayMs : nextAttempt.dueAt - now;
  return Math.max(SHORTEST_CLOSED_MS, Math.min(retryAfterCapMs, Math.max(wantedMs, ageMs * PROBE_SHARE)));
}

/** The new line does not know the last request, so it opens no sooner than `max_per_second` allows another. */
function slow(
  subscription: Subscription,
  current: Pressure | undefined,
  { startedAt, now }: { startedAt: number; now: number },
  next: Pick<Pressure, 'reason' | 'opensAt' | 'perSecond' | 'learned'>,
): PressureChange {
  const { reason } = next;
  const limitMs = rateLimitOf(subscription)?.intervalMs ?? 0;
  const opensAt = Math.max(next.opensAt, Math.ceil(startedAt + limitMs));
  const since = current === undefined ? now : startOfEpisode(current, startedAt);
  const event = { type: 'subscription.slowed', reason, since, until: opensAt } as const;
  return {
    ...changeTo({ ...next, opensAt, since }, subscription, now),
    ...(current?.reason !== reason && { unsent: { event, at: now } }),
  };
}

/** A subscriber that answers closes its circuit, and ends an episode that is over. Undefined: no change. */
export function pressureAfterAnswer(
  subscription: Subscription,
  answered: { startedAt: number; now: number },
): PressureChange | undefined {
  const { startedAt, now } = answered;
  const current = pressureAt(subscription, startedAt);
  if (current === undefined) return endOfPressure(subscription, now);
  if (!isCircuitOpen(current)) return undefined;
  return slow(subscription, current, answered, {
    reason: current.reason,
    opensAt: now,
    perSecond: RAMP_PER_SECOND,
  });
}

/** Ends the episode. Undefined: there is none. */
export function endOfPressure(subscription: Subscription, now: number): PressureChange | undefined {
  const { pressure } = subscription;
  if (pressure === undefined || pressure.ended) return undefined;
  const { reason, since } = pressure;
  const event = { type: 'subscription.resumed', reason, since, at: now } as const;
  return {
    ...changeTo({ ...pressure, ended: true }, subscription, now),
    unsent: { event, at: now },
  };
}

function changeTo(pressure: Omit<Pressure, 'at'>, subscription: Subscription, now: number): PressureChange {
  const { changedAt } = subscription;
  return {
    kind: 'pressure',
    from: subscription.pressure?.at,
    pressure: { ...pressure, at: timeOfNewEpoch(subscription, now) },
    ...(changedAt !== undefined && { changedAt }),
  };
}

/** Whether the record has the version that a change is based on. The first writer wins; late results are ignored. */
export function isPressureUnchanged({ pressure }: Subscription, { from }: PressureChange): boolean {
  return pressure?.at === from;
}
