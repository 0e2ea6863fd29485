import { MAX_PER_SECOND, timeOfNewEpoch } from './rate-limit.ts';
import {
  between,
  pressureAt,
  type PressureSignal,
  RAMP_MS,
  findPressureReason,
  SHORTEST_ASK_AGAIN_MS,
  type ReceiverCounts,
} from './back-pressure.ts';
import type { PressureReason } from './vocabulary.ts';
import type { PendingEvent, Pressure, PressureState, Subscription } from './subscription.ts';
import type { PaceSwitches } from './switches.ts';

/**
 * The law of back-pressure (docs/retry-policy.md#back-pressure): watched → slowed or held → ramping → ended. Each change
 * is one conditional write. `from`: version that the request was sent under; undefined: none.
 */
export type PressureChange = {
  kind: 'pressure';
  from: number | undefined;
  pressure: Pressure;
  unsent?: PendingEvent;
  version?: number;
  /** From when deliveries that wait need not, and move up. Milliseconds since the epoch. */
  moveUpAt?: number;
};

/** Fewer deliveries say nothing about a subscriber. */
const LEAST_DELIVERIES = 10;

/** A larger share of refusals slows the subscription; up to half of it, the rate grows. */
const REFUSED_SHARE = 0.1;

/** The later deliveries ask again, the longer it takes until all slots are used again. Milliseconds. */
const LONGEST_IF_SLOWED_MS = 5 * 60_000;

/** "Nearly all" requests. */
const NEARLY_ALL = 0.9;

/** Share of the answered rate that a slowed subscription gets, so that growth finds its limit from below. */
const ANSWERED_SHARE = 0.9;

/** The rate after a window that used it, with few refusals. */
const GROWTH = 1.05;

/** Share of the slots that must be used: instances may not have added their last requests. */
const USED_SHARE = 0.8;

/** One request in ten seconds tests the subscriber often enough. */
const LEAST_PER_SECOND = 0.1;

/** What one request changes. `count`: the window that it is counted in decides. Undefined: nothing. */
export function afterRequest(
  subscription: Subscription,
  signal: PressureSignal | undefined,
  switches: PaceSwitches,
  now: number,
): PressureChange | 'count' | undefined {
  const { pressure = { state: 'ended' } } = subscription;
  switch (pressure.state) {
    case 'ended':
      return isFailure(signal, switches) ? changeTo({ state: 'watched' }, subscription, now) : undefined;
    case 'ending':
      return endOfPressure(subscription, now);
    case 'held':
      return isAnswer(signal, switches) ? ramp(subscription, now) : undefined;
    case 'ramping':
      if (pressureAt(subscription, now) === undefined) return endOfPressure(subscription, now);
      return signal && 'count';
    case 'watched':
    case 'slowed':
      return signal && 'count';
  }
}

/** How a signal counts: a failure is an answer where no switch asks for it. */
export function countedAs(
  signal: PressureSignal,
  { adaptToThrottling, holdWhileDown }: PaceSwitches,
): { refused: boolean; down: boolean } {
  return {
    refused: adaptToThrottling && (signal === 'refused' || signal === 'closed'),
    down: holdWhileDown && (signal === 'down' || signal === 'closed'),
  };
}

function isFailure(signal: PressureSignal | undefined, switches: PaceSwitches): boolean {
  if (signal === undefined) return false;
  const { refused, down } = countedAs(signal, switches);
  return refused || down;
}

/** Whether a probe shows that the subscriber is back: it was answered, even by a 429. */
function isAnswer(signal: PressureSignal | undefined, { holdWhileDown }: PaceSwitches): boolean {
  return signal === 'answered' || signal === 'refused' || (signal === 'closed' && !holdWhileDown);
}

function ramp(subscription: Subscription, now: number): PressureChange {
  const line = timeOfNewEpoch(subscription, now);
  const change = changeTo({ state: 'ramping', line }, subscription, now);
  return { ...change, moveUpAt: Math.ceil(now + RAMP_MS) };
}

/** What the requests of all function instances found in `elapsedMs`. */
export type JudgedWindow = ReceiverCounts & { elapsedMs: number };

/** What a window changes: at least the version, so that another one begins. */
export function afterWindow(
  subscription: Subscription & { pressure: Pressure },
  window: JudgedWindow,
  switches: PaceSwitches,
  now: number,
): PressureChange | undefined {
  const { pressure } = subscription;
  if (isDown(window, switches)) return changeTo({ state: 'held' }, subscription, now);
  if (isThrottled(window, switches)) return slow(subscription, window, now);
  switch (pressure.state) {
    case 'watched':
      return window.refused + window.down > 0
        ? changeTo({ state: 'watched' }, subscription, now)
        : endOfPressure(subscription, now);
    case 'slowed': {
      const next = slowedAfter(pressure, window);
      // What waits asks again by and by: all at once would be refused again.
      return changeTo(next ?? { state: 'ended' }, subscription, now);
    }
    case 'ramping':
      return changeTo({ state: 'ramping', line: pressure.line }, subscription, now);
    case 'held':
    case 'ending':
    case 'ended':
      return undefined;
  }
}

/** Nearly all requests of enough deliveries found it down, or refused every one. */
function isDown(
  { deliveries, requests, answered, refused, down }: JudgedWindow,
  switches: PaceSwitches,
): boolean {
  const { adaptToThrottling, holdWhileDown } = switches;
  const nearlyAll = NEARLY_ALL * requests;
  const isClosed = adaptToThrottling && answered === 0 && refused >= nearlyAll;
  return deliveries >= LEAST_DELIVERIES && ((holdWhileDown && down >= nearlyAll) || isClosed);
}

function isThrottled({ deliveries, requests, refused }: JudgedWindow, switches: PaceSwitches): boolean {
  const { adaptToThrottling } = switches;
  return adaptToThrottling && deliveries >= LEAST_DELIVERIES && refused > REFUSED_SHARE * requests;
}

/** Down to the rate that was answered, in a new line. */
function slow(
  subscription: Subscription & { pressure: Pressure },
  { answered, elapsedMs }: JudgedWindow,
  now: number,
): PressureChange {
  const { pressure } = subscription;
  const perSecond = Math.max(LEAST_PER_SECOND, hundredths((ANSWERED_SHARE * 1_000 * answered) / elapsedMs));
  const line = timeOfNewEpoch(subscription, now);
  const askAgainMs = pressure.state === 'slowed' ? pressure.askAgainMs : SHORTEST_ASK_AGAIN_MS;
  return changeTo({ state: 'slowed', perSecond, line, askAgainMs }, subscription, now);
}

type Slowed = Extract<PressureState, { state: 'slowed' }>;

/**
 * The rate grows while it is used and few requests are refused. Deliveries without a slot ask again the later, the longer
 * all slots are used; unused slots mean that they ask too late, or that none waits. Undefined: it no longer limits.
 */
function slowedAfter(
  { line, perSecond, askAgainMs }: Slowed,
  { requests, refused, elapsedMs }: JudgedWindow,
): Slowed | undefined {
  const isUsed = 1_000 * requests >= USED_SHARE * perSecond * elapsedMs;
  if (!isUsed && askAgainMs === SHORTEST_ASK_AGAIN_MS) return undefined;
  const isTaken = refused <= (REFUSED_SHARE / 2) * requests;
  const grown = hundredths(Math.max(perSecond + 0.01, GROWTH * perSecond));
  if (grown >= MAX_PER_SECOND) return undefined;
  return {
    state: 'slowed',
    line,
    perSecond: isUsed && isTaken ? grown : perSecond,
    askAgainMs: between(SHORTEST_ASK_AGAIN_MS, askAgainMs * (isUsed ? 1.25 : 0.5), LONGEST_IF_SLOWED_MS),
  };
}

function hundredths(value: number): number {
  return Math.round(100 * value) / 100;
}

/** Ends the episode. Operators hear of it, and what waits moves up. Undefined: there is none. */
export function endOfPressure(subscription: Subscription, now: number): PressureChange | undefined {
  const { pressure } = subscription;
  if (pressure === undefined || pressure.state === 'ended') return undefined;
  const ended = changeTo({ state: 'ended' }, subscription, now);
  // A ramp has announced when it is over.
  const isAnnounced = pressure.state === 'ramping' && pressureAt(subscription, now) === undefined;
  return pressure.state === 'watched' || isAnnounced ? ended : { ...ended, moveUpAt: now };
}

/** Operators hear when deliveries begin to wait for a reason, and when it is over. */
function changeTo(next: PressureState, subscription: Subscription, now: number): PressureChange {
  const { version, pressure: before } = subscription;
  const reason = findPressureReason(next);
  const reasonBefore = before && findPressureReason(before);
  const since = before !== undefined && reason === reasonBefore ? before.since : now;
  const event = reason === reasonBefore ? undefined : buildEvent(reason, before, now);
  return {
    kind: 'pressure',
    from: before?.at,
    pressure: { ...next, at: timeOfNewEpoch(subscription, now), since },
    ...(event && { unsent: { event, at: now } }),
    ...(version !== undefined && { version }),
  };
}

function buildEvent(
  reason: PressureReason | undefined,
  before: Pressure | undefined,
  now: number,
): PendingEvent['event'] | undefined {
  if (reason !== undefined) return { type: 'subscription.slowed', reason, since: now, until: now };
  const over = before && findPressureReason(before);
  return before && over && { type: 'subscription.resumed', reason: over, since: before.since, at: now };
}

/** Whether the record has the version that a change is based on. The first writer wins; late results are ignored. */
export function isPressureUnchanged({ pressure }: Subscription, { from }: PressureChange): boolean {
  return pressure?.at === from;
}
