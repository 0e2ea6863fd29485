import { isPaced } from './destination.ts';
import { ATTEMPT_TIMEOUT_SECONDS } from '../retry/attempt-duration.ts';
import { type Sent, TOO_MANY_REQUESTS } from '../retry/outcome.ts';
import {
  buildEpoch,
  computeRateLimit,
  epochTime,
  type Limited,
  MAX_PER_SECOND,
  type RateLimit,
  SLOT_VALID_MS,
  slotIntervalMs,
} from './rate-limit.ts';
import type { Pressure, PressureState } from './subscription.ts';
import type { PressureReason } from './vocabulary.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** While held: from one probe to the next, unless a request may take longer. */
const PROBE_INTERVAL_MS = 10 * SECOND;

/** How soon and how late a delivery without a slot asks again. */
export const SHORTEST_ASK_AGAIN_MS = 10 * SECOND;
const LONGEST_ASK_AGAIN_MS = 15 * MINUTE;

/** Slots have the rate of their reservation, so the line is short. */
const LINE_MS = 10 * SECOND;
const LINE_IN_RAMP_MS = 2 * SECOND;

/** The ramp after a probe that was answered: the first rate, and the time in which it doubles. */
const FIRST_PER_SECOND = 10;
const DOUBLING_MS = 2 * SECOND;

/** Length of the ramp: it ends at the highest rate. */
export const RAMP_MS = DOUBLING_MS * Math.log2(MAX_PER_SECOND / FIRST_PER_SECOND);

/**
 * What a reply says about the subscriber. `answered`: it takes requests, even if it does not like this one. `closed`: a
 * 503 with `Retry-After`, which is a refusal and an outage.
 */
export type PressureSignal = 'answered' | 'refused' | 'down' | 'closed';

const DOWN_STATUSES: readonly number[] = [502, 503, 504];

/** Undefined: the reply says nothing, such as a DNS or TLS fault. */
export function toPressureSignal(reply: Sent): PressureSignal | undefined {
  switch (reply.kind) {
    case 'forbidden':
    case 'unrendered':
      return undefined;
    case 'unanswered':
      return reply.error === 'timeout' || reply.error === 'connection_refused' ? 'down' : undefined;
    case 'answered':
      if (reply.statusCode === TOO_MANY_REQUESTS) return 'refused';
      if (reply.statusCode === 503 && reply.retryAfter !== undefined) return 'closed';
      return DOWN_STATUSES.includes(reply.statusCode) ? 'down' : 'answered';
  }
}

/** Why deliveries wait. Undefined: they do not. */
export function findPressureReason(pressure: PressureInForce): PressureReason;
export function findPressureReason(pressure: PressureState): PressureReason | undefined;
export function findPressureReason(pressure: PressureState): PressureReason | undefined {
  switch (pressure.state) {
    case 'slowed':
      return 'receiver_throttled';
    case 'held':
    case 'ramping':
      return 'circuit_open';
    case 'ending':
      return pressure.reason;
    case 'watched':
    case 'ended':
      return undefined;
  }
}

/** A pressure that makes deliveries wait. */
type PressureInForce = Extract<Pressure, { state: 'slowed' | 'held' | 'ramping' }>;

/** The pressure in force. Undefined: none, or its ramp is over. */
export function pressureAt(subscription: Limited, now: number): PressureInForce | undefined {
  const { pressure } = subscription;
  if (pressure === undefined || !isPaced(subscription.destination)) return undefined;
  switch (pressure.state) {
    case 'slowed':
    case 'held':
      return pressure;
    case 'ramping':
      return now < pressure.line + RAMP_MS ? pressure : undefined;
    case 'watched':
    case 'ending':
    case 'ended':
      return undefined;
  }
}

/** Milliseconds between two slots. */
function intervalAt(pressure: PressureInForce, now: number, attemptTimeoutMs: number): number {
  switch (pressure.state) {
    case 'slowed':
      return slotIntervalMs(pressure.perSecond);
    case 'ramping':
      return slotIntervalMs(rampRate(now - pressure.line));
    case 'held':
      // The last probe has its answer or has timed out.
      return Math.max(PROBE_INTERVAL_MS, attemptTimeoutMs) + SLOT_VALID_MS;
  }
}

/** Requests a second. */
function rampRate(sinceMs: number): number {
  return Math.min(MAX_PER_SECOND, FIRST_PER_SECOND * 2 ** (Math.max(0, sinceMs) / DOUBLING_MS));
}

/**
 * The pace of a subscription's requests: its `max_per_second` and its pressure in one. Undefined: unlimited.
 * `attemptTimeoutMs`: the longest time that a probe takes.
 */
export function computePace(
  subscription: Limited,
  now: number,
  attemptTimeoutMs = ATTEMPT_TIMEOUT_SECONDS.most * SECOND,
): RateLimit | undefined {
  const limit = computeRateLimit(subscription);
  const pressure = pressureAt(subscription, now);
  return pressure === undefined ? limit : paceUnder(pressure, subscription, { limit, now, attemptTimeoutMs });
}

function paceUnder(
  pressure: PressureInForce,
  subscription: Limited,
  { limit, now, attemptTimeoutMs }: { limit: RateLimit | undefined; now: number; attemptTimeoutMs: number },
): RateLimit {
  const line = pressure.state === 'held' ? pressure.at : pressure.line;
  const limitMs = limit?.intervalMs ?? 0;
  // The line does not know the last request before it.
  const common = { reason: findPressureReason(pressure), opensAt: line + limitMs };
  const epoch = buildEpoch(epochTime({ ...subscription, pressure: { ...pressure, at: line } }), 0);
  const intervalMs = Math.max(intervalAt(pressure, now, attemptTimeoutMs), limitMs);
  switch (pressure.state) {
    case 'slowed':
      return { ...common, epoch, intervalMs, longestMs: LINE_MS, askAgainMs: pressure.askAgainMs };
    case 'ramping':
      return { ...common, epoch, intervalMs, longestMs: LINE_IN_RAMP_MS, askAgainMs: SHORTEST_ASK_AGAIN_MS };
    case 'held': {
      const askAgainMs = between(SHORTEST_ASK_AGAIN_MS, (now - pressure.since) / 2, LONGEST_ASK_AGAIN_MS);
      // A new `max_per_second` does not begin a new line, which would start another probe beside the one in flight.
      return { ...common, epoch: buildEpoch(line, 0), intervalMs, longestMs: 0, askAgainMs };
    }
  }
}

export function between(least: number, value: number, most: number): number {
  return Math.min(most, Math.max(least, Math.round(value)));
}

/**
 * What a subscription's requests found. `deliveries` leaves out retries in the same invocation, so that one delivery's
 * quick retries count once. `answered`: neither refused nor down. A 503 with `Retry-After` is both refused and down.
 */
export const RECEIVER_COUNTS = ['deliveries', 'requests', 'answered', 'refused', 'down'] as const;
export type ReceiverCounts = Record<(typeof RECEIVER_COUNTS)[number], number>;

export const NO_COUNTS: ReceiverCounts = { deliveries: 0, requests: 0, answered: 0, refused: 0, down: 0 };

export function sumOfCounts(one: ReceiverCounts, other: ReceiverCounts): ReceiverCounts {
  return {
    deliveries: one.deliveries + other.deliveries,
    requests: one.requests + other.requests,
    answered: one.answered + other.answered,
    refused: one.refused + other.refused,
    down: one.down + other.down,
  };
}

/** The counts of all function instances under one version of the pressure. `writes`: how many additions made them. */
export type CountingWindow = ReceiverCounts & { version: number; writes: number };

/** An instance adds its counts no more often. Milliseconds. */
export const ADD_EVERY_MS = 2_000;

/** A window is judged after this time if it has enough requests, and at the latest after the second. Milliseconds. */
const WINDOW_MS = 10_000;
const LONGEST_WINDOW_MS = 60_000;
const ENOUGH_REQUESTS = 50;

/** All instances together write no more often, apart from those that write in the same instant. */
const MAX_WRITES_PER_SECOND = 20;

/**
 * What an instance does with its counts: adds them, judges the window with them, keeps them for later, or drops them,
 * because others have judged the window.
 */
type CountingStep = 'add' | 'judge' | 'keep' | 'drop';

/** `found`: the window as read. `ageMs`: of the window of `version`. */
export function countingStep(
  found: CountingWindow | undefined,
  version: number,
  { requests }: ReceiverCounts,
  ageMs: number,
): CountingStep {
  if (found !== undefined && found.version > version) return 'drop';
  const before = found?.version === version ? found : { requests: 0, writes: 0 };
  if (isComplete(before.requests + requests, ageMs)) return 'judge';
  return before.writes < MAX_WRITES_PER_SECOND * (1 + ageMs / 1_000) ? 'add' : 'keep';
}

function isComplete(requests: number, ageMs: number): boolean {
  return ageMs >= (requests >= ENOUGH_REQUESTS ? WINDOW_MS : LONGEST_WINDOW_MS);
}

/** Requests of so long ago say nothing about now: a window without traffic is not judged. */
export function isOutdated(ageMs: number): boolean {
  return ageMs >= 2 * LONGEST_WINDOW_MS;
}
