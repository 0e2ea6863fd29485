import type { NextAttempt } from '../delivery/delivery.ts';
import type { RetryPolicy } from '../retry/policy.ts';
import { retrySchedule } from '../retry/schedule.ts';
import { endOfRamp, growthOf, isCircuitOpen, pressureAt, rateAt, startOfEpisode } from './back-pressure.ts';
import { MAX_PER_SECOND, rateLimitOf, timeOfNewEpoch } from './rate-limit.ts';
import type { PressureSignal } from './recent-results.ts';
import type { PendingEvent, Pressure, Subscription } from './subscription.ts';

/** A conditional write of the pressure. `from`: version that the request was sent under; undefined: none. */
export type PressureChange = {
  kind: 'pressure';
  from: number | undefined;
  pressure: Pressure;
  unsent?: PendingEvent;
  changedAt?: number;
  /** When the ramp after an outage is over, and what waits can move up. Milliseconds since the epoch. */
  moveUpAt?: number;
};

const SECOND = 1_000;

/** Wait after a refusal without a usable `Retry-After`; also the shortest wait for a probe. */
const SHORTEST_CLOSED_MS = SECOND;

/** Least rate after the first refusal, and after a successful probe. */
const FIRST_PER_SECOND = 2;

/** Factor from the rate that the subscriber lately answered to the first one. */
const FIRST_SHARE = 0.5;

/** Factor from the rate of the refused request to the next one. */
const LEARNED_SHARE = 0.85;

/** How much of a learned rate's growth a refused request is taken to have had. */
const MOST_GROWN = 2;

/** The least rate that refusals lead to: one request in ten seconds tests the subscriber often enough. */
const LEAST_PER_SECOND = 0.1;

/** Time between two probes of an open circuit, as a share of the outage's age. */
const PROBE_SHARE = 1 / 10;

/** Longest wait for a probe early in an outage. A policy of hours would hold up new messages as long. */
const LONGEST_FIRST_CLOSED_MS = 60 * SECOND;

/** A request and what its instance knows. Times are milliseconds since the epoch. */
export type SeenRequest = {
  signal: PressureSignal;
  startedAt: number;
  now: number;
  /** Requests a second that the subscriber has lately answered to this instance. */
  answeredPerSecond: number;
  /** Whether the latest results, with that of this request, open a circuit. */
  isTripped: boolean;
  /** What `Retry-After` asks for, capped; 0: nothing. Milliseconds. */
  retryAfterMs: number;
  /** The delivery's, if its policy makes one. */
  nextAttempt: Pick<NextAttempt, 'dueAt'> | undefined;
  policy: RetryPolicy;
  rules: { retryAfterCapMs: number };
};

/**
 * How a request changes the pressure. Undefined: not at all. The first request after an episode is over ends it, even if
 * it failed: operators hear of the end before they hear of another beginning.
 */
export function pressureAfter(subscription: Subscription, seen: SeenRequest): PressureChange | undefined {
  if (pressureAt(subscription, seen.startedAt) === undefined) {
    const end = endOfPressure(subscription, seen.now);
    if (end !== undefined) return end;
  }
  switch (seen.signal) {
    case 'throttled':
      return afterRefusal(subscription, seen);
    case 'down':
      return afterOutage(subscription, seen);
    case 'up':
      return afterAnswer(subscription, seen);
  }
}

/** Closes the line until the time that the subscriber asks for. */
function afterRefusal(subscription: Subscription, seen: SeenRequest): PressureChange {
  const { startedAt, now, retryAfterMs } = seen;
  const current = pressureAt(subscription, startedAt);
  const rate = rateAfterRefusal(subscription, current, seen);
  const opensAt = now + Math.max(SHORTEST_CLOSED_MS, retryAfterMs, Math.ceil(SECOND / rate.perSecond));
  const change = slow(subscription, current, seen, { reason: 'receiver_throttled', opensAt, ...rate });
  if (current === undefined || !isCircuitOpen(current)) return change;
  // The refused request was a probe: the subscriber answers, and those that wait for it move up.
  return { ...change, moveUpAt: endOfRamp({ opensAt: change.pressure.opensAt, perSecond: rate.perSecond }) };
}

function rateAfterRefusal(
  { options: { max_per_second = MAX_PER_SECOND } }: Subscription,
  current: Pressure | undefined,
  { startedAt, answeredPerSecond }: SeenRequest,
): { perSecond: number; learned?: true } {
  if (current?.perSecond === undefined) return { perSecond: firstRate(answeredPerSecond) };
  const { perSecond, learned } = current;
  // Refused soon after it opened: that says little about the rate.
  if (!learned && rateAt(current, startedAt) < 2 * perSecond) return { perSecond: atLeast(perSecond / 2) };
  // Slots have the rate of their reservation. In a full line that was as long ago as the line is long; at a learned
  // rate that time is unknown, and a rate that is too low grows.
  const rateOfSlot = learned
    ? Math.min(rateAt(current, startedAt), MOST_GROWN * perSecond)
    : rateAt(current, startedAt - growthOf(current).longestMs);
  return { perSecond: atLeast(LEARNED_SHARE * Math.min(max_per_second, rateOfSlot)), learned: true };
}

/** A busy subscriber need not begin anew. Other instances had their share, so it takes this rate. */
function firstRate(answeredPerSecond: number): number {
  const answered = FIRST_SHARE * Math.min(MAX_PER_SECOND, answeredPerSecond);
  return Math.max(FIRST_PER_SECOND, hundredths(answered));
}

function atLeast(perSecond: number): number {
  return Math.max(LEAST_PER_SECOND, hundredths(perSecond));
}

function hundredths(value: number): number {
  return Math.round(100 * value) / 100;
}

/** Opens the circuit, or keeps it open after a failed probe. Undefined: no change. */
function afterOutage(subscription: Subscription, seen: SeenRequest): PressureChange | undefined {
  const { startedAt, now, isTripped } = seen;
  const current = pressureAt(subscription, startedAt);
  const isProbe = current !== undefined && isCircuitOpen(current);
  if (!isProbe && !isTripped) return undefined;
  const ageMs = isProbe ? now - startOfEpisode(current, startedAt) : 0;
  const opensAt = now + Math.ceil(probeDelayMs(ageMs, seen));
  return slow(subscription, current, seen, { reason: 'circuit_open', opensAt });
}

/**
 * When the next probe may start: at the failed delivery's next attempt, but not at once, early in an outage not later
 * than in a minute, and after a long outage not as often as a new message's first retries.
 */
function probeDelayMs(ageMs: number, { now, nextAttempt, policy, rules }: SeenRequest): number {
  const lastDelayMs = (retrySchedule(policy).at(-1)?.delaySeconds ?? 0) * SECOND;
  const wantedMs = nextAttempt === undefined ? lastDelayMs : nextAttempt.dueAt - now;
  const delayMs = Math.max(Math.min(wantedMs, LONGEST_FIRST_CLOSED_MS), ageMs * PROBE_SHARE);
  return Math.max(SHORTEST_CLOSED_MS, Math.min(rules.retryAfterCapMs, delayMs));
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
  const since = current?.reason === reason ? startOfEpisode(current, startedAt) : now;
  const event = { type: 'subscription.slowed', reason, since, until: opensAt } as const;
  return {
    ...changeTo({ ...next, opensAt, since }, subscription, now),
    ...(current?.reason !== reason && { unsent: { event, at: now } }),
  };
}

/** A subscriber that answers closes its circuit. Undefined: no change. */
function afterAnswer(subscription: Subscription, seen: SeenRequest): PressureChange | undefined {
  const { startedAt, now, answeredPerSecond } = seen;
  const current = pressureAt(subscription, startedAt);
  if (current === undefined || !isCircuitOpen(current)) return undefined;
  const next = { reason: current.reason, opensAt: now, perSecond: firstRate(answeredPerSecond) };
  const change = slow(subscription, current, seen, next);
  return { ...change, moveUpAt: endOfRamp(next) };
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
