import { DAY_MS } from '../duration.ts';
import { jitteredDelay } from '../retry/schedule.ts';
import { isPaced } from './destination.ts';
import type { Subscription, SubscriptionOptions } from './subscription.ts';
import type { PressureReason, WaitingReason } from './vocabulary.ts';

/**
 * Rate limit of a subscription: one request per `intervalMs`. Slots of another epoch are invalid: the limit, the
 * pressure or the subscriber changed, or the subscription was re-enabled. Later epochs sort after earlier ones as
 * text. All but the first two are set under back-pressure (back-pressure.ts).
 */
export type RateLimit = {
  intervalMs: number;
  epoch: string;
  /** No slot is earlier. Milliseconds since the epoch. */
  opensAt?: number;
  /** How far the line's last slot may be from its start; then deliveries ask again. 0: one slot. Milliseconds. */
  longestMs?: number;
  /** They ask again after half of this time to the whole of it. Milliseconds. */
  askAgainMs?: number;
  /** Copied to the slots. */
  reason?: PressureReason;
};

/** A place in a subscription's line of requests: when its request may start (milliseconds since the epoch). */
export type Slot = {
  at: number;
  /** Epoch of its limit. Undefined: the line was too long, and `at` is when to ask again. */
  epoch?: string | undefined;
  /** Due time of a retry that joined the line early; it must not get an earlier slot. */
  from?: number | undefined;
  /** Why its delivery waits; undefined: `rate_limited`. */
  reason?: PressureReason | undefined;
  /** Without an epoch: how much later it may ask (`spreadOut`). Not stored. Milliseconds. */
  spreadMs?: number;
};

/** Why the delivery with this slot waits. */
export function toWaitingReason({ reason }: Slot): WaitingReason {
  return reason ?? 'rate_limited';
}

/** Bounds of `max_per_second`. */
export const MIN_PER_SECOND = 0.01;
export const MAX_PER_SECOND = 1_000;

const WINDOW_MS = 10_000;
/** In any ten seconds, at most 5 % more requests than `max_per_second` allows. */
const RATE_TOLERANCE = 1.05;

/** Milliseconds after which a slot expires. In a backlog, all missed slots would otherwise be used at once. */
export const SLOT_VALID_MS = 400;

/** Maximum lateness of a request: that of its slot, plus the time to connect. */
const LATENESS_MS = SLOT_VALID_MS + 100;

/** Milliseconds before its slot at which a delivery is picked up, so that it is prepared in time. */
export const SLOT_LEAD_MS = 750;

/**
 * Milliseconds between two slots. Slots are evenly spaced (GCRA without a burst), but each may be used late: ten
 * seconds can contain the slots of ten seconds plus the maximum lateness. The second term keeps those within the
 * tolerance; it matters only below about 2 a second and at odd rates.
 */
export function slotIntervalMs(maxPerSecond: number): number {
  const most = Math.max(1, Math.floor((RATE_TOLERANCE * maxPerSecond * WINDOW_MS) / 1000));
  return inMicroseconds(Math.max(1000 / maxPerSecond, (WINDOW_MS + LATENESS_MS) / most));
}

/** Rounds up, so that sums keep few digits. */
function inMicroseconds(ms: number): number {
  return Math.ceil(ms * 1000) / 1000;
}

/** What the pace of a subscription's requests depends on. */
export type Limited = Pick<
  Subscription,
  'destination' | 'options' | 'createdAt' | 'version' | 'rateChangedAt' | 'pressure'
>;

/** The limit that `max_per_second` sets; undefined: unlimited. `computePace` (back-pressure.ts) adds the pressure. */
export function computeRateLimit(subscription: Limited): RateLimit | undefined {
  const { max_per_second: rate } = subscription.options;
  if (rate === undefined || !isPaced(subscription.destination)) return undefined;
  return { intervalMs: slotIntervalMs(rate), epoch: buildEpoch(timeWithoutPressure(subscription), rate) };
}

/** The time of a change that begins a new line: later than in every epoch so far, even if clocks differ. */
export function timeOfNewEpoch(subscription: Dated, now: number): number {
  return Math.max(now, timeWithoutPressure(subscription) + 1);
}

type Dated = Omit<Limited, 'options' | 'destination'>;

/** Lines under a pressure end with it. */
function timeWithoutPressure(subscription: Dated): number {
  return epochTime(subscription) + (subscription.pressure === undefined ? 0 : 1);
}

/** Time in the epoch of a line under pressure. */
export function epochTime({ createdAt, version = 0, rateChangedAt = 0, pressure }: Dated): number {
  return Math.max(createdAt, version, rateChangedAt, pressure?.at ?? 0);
}

/**
 * Dates a change of the limit. A limit that returns to an earlier value needs a new epoch: slots of the old line
 * would double its rate.
 */
export function withLimitDated(before: Subscription, after: Subscription, now: number): Subscription {
  return before.options.max_per_second === after.options.max_per_second
    ? after
    : { ...after, rateChangedAt: timeOfNewEpoch(before, now) };
}

/** Whether new options raise the rate limit. */
export function isRaised(before: SubscriptionOptions, after: SubscriptionOptions): boolean {
  return (after.max_per_second ?? Infinity) > (before.max_per_second ?? Infinity);
}

/** Whether a slot was reserved under a lower limit, or could not be reserved. */
export function isFromLowerLimit({ epoch }: Slot, limit: RateLimit | undefined): boolean {
  return limit === undefined || epoch === undefined || rateIn(epoch) < rateIn(limit.epoch);
}

/**
 * The epoch of a line that began at `time`. Earlier versions wrote `/` in place of `@`: their slots are invalid, because
 * their lines are not continued.
 */
export function buildEpoch(time: number, perSecond: number): string {
  return `${time}@${perSecond}`;
}

function rateIn(epoch: string): number {
  return Number(epoch.split(/[/@]/)[1]);
}

/** Whether a slot may be used now, later, or not at all. */
export function classifySlot(
  slot: Slot | undefined,
  limit: RateLimit,
  now: number,
): 'good' | 'to_come' | 'none' {
  if (slot?.epoch !== limit.epoch || now > slot.at + SLOT_VALID_MS) return 'none';
  return now < slot.at ? 'to_come' : 'good';
}

/** Milliseconds. A nearer slot may already be in use, and another delivery could not reach it in time. */
const RETURN_MARGIN_MS = 2_000;

/** Whether the slot of an ended, unleased delivery can be given to another delivery. */
export function canReturnSlot(slot: Slot, now: number): boolean {
  return slot.epoch !== undefined && slot.at - now > RETURN_MARGIN_MS;
}

/**
 * State of a subscription's line. `reservedUpTo`: end of the reserved slots, in milliseconds. `left`: earlier slots
 * that deliveries gave back.
 */
export type Line = { reservedUpTo: number; epoch: string; left?: readonly number[] };

/** Slots are reserved at most a week ahead; beyond that, deliveries ask again within a day. */
export const MAX_LINE_MS = 7 * DAY_MS;
const ASK_AGAIN_MS = DAY_MS;

/** When a delivery asks again if it used a subscription that has changed since. */
const READ_AGAIN_MS = 2_000;

/** Whether a line has reserved slots in the future, of the current epoch. */
export function isActiveLine(
  line: Line | undefined,
  { epoch }: Pick<RateLimit, 'epoch'>,
  now: number,
): line is Line {
  return line?.epoch === epoch && line.reservedUpTo > now;
}

/** Whether a line of a later epoch exists: the caller read the subscription before it changed. */
function isSuperseded(line: Line | undefined, { epoch }: Pick<RateLimit, 'epoch'>, now: number): boolean {
  return line !== undefined && line.epoch > epoch && line.reservedUpTo > now;
}

/** Start of a new line. */
export function lineStart({ opensAt = 0 }: RateLimit, now: number): number {
  return Math.max(now, opensAt);
}

/**
 * Latest end of a line at which a slot may be added. `until`: when the message expires; a later slot would be
 * unused and would delay other messages.
 */
export function latestEnd(limit: RateLimit, now: number, until = Infinity): number {
  return Math.min(lineStart(limit, now) + (limit.longestMs ?? MAX_LINE_MS), until);
}

/** How many deliveries may reserve slots by one write: no more than the longest line holds. */
export function mostTogether({ longestMs = Infinity, intervalMs }: RateLimit): number {
  return 1 + Math.floor(longestMs / intervalMs);
}

/** `count` slots, starting at `first`. */
export function slotsFrom(first: number, count: number, limit: RateLimit): Slot[] {
  return Array.from({ length: count }, (_, index) =>
    slotAt(Math.ceil(first + index * limit.intervalMs), limit),
  );
}

function slotAt(at: number, { epoch, reason }: RateLimit): Slot {
  return { at, epoch, ...(reason && { reason }) };
}

/** A time to ask again, in place of a slot. */
function askAgainAt(at: number, { reason }: RateLimit): Slot {
  return { at, ...(reason && { reason }) };
}

/** What a delivery gets if the line is full. */
export function slotBeyond(limit: RateLimit, now: number, until = Infinity): Slot {
  const { askAgainMs = ASK_AGAIN_MS } = limit;
  const latest = until + SLOT_LEAD_MS;
  const at = Math.min(lineStart(limit, now) + askAgainMs / 2, latest);
  return { ...askAgainAt(at, limit), spreadMs: Math.min(askAgainMs / 2, latest - at) };
}

/**
 * Spreads the times at which deliveries ask again, so that they do not wake together. The same `seed` gives the same
 * place. Real slots stay as they are.
 */
export function spreadOut({ spreadMs = 0, ...slot }: Slot, seed: string): Slot {
  return { ...slot, at: Math.ceil(slot.at + jitteredDelay(spreadMs, 'full', seed)) };
}

/** Most returned slots that a line remembers; they take 9 KB of an item. */
export const MAX_RETURNED_SLOTS = 1_000;

/** Constraints on the slots: none before `from` or after `until`. Milliseconds since the epoch, like `now`. */
type SlotRequest = { limit: RateLimit; now: number; from?: number | undefined; until?: number | undefined };

/**
 * Slots in a line: returned ones first, in order, then new ones at its end. `added`: number of new slots. `left`:
 * returned slots that remain. `activeLine` undefined: a new line begins now.
 */
export type FoundSlots = {
  activeLine: Line | undefined;
  slots: readonly Slot[];
  added: number;
  left: readonly number[];
};

/**
 * `count` slots of a line, at most `mostTogether`. If there are not enough, each caller gets `instead`: a time to ask
 * again.
 */
export function findSlots(
  line: Line | undefined,
  count: number,
  request: SlotRequest,
): FoundSlots | { instead: Slot; line: Line | undefined } {
  const { limit, now } = request;
  // By then the callers have read the current subscription.
  if (isSuperseded(line, limit, now)) return { instead: askAgainAt(now + READ_AGAIN_MS, limit), line };
  const activeLine = isActiveLine(line, limit, now) ? line : undefined;
  const { reservedUpTo } = activeLine ?? { reservedUpTo: lineStart(limit, now) };
  const found = slotsIn({ ...activeLine, reservedUpTo }, count, request);
  const instead = found.added > 0 ? alternativeToEnd(reservedUpTo, request) : undefined;
  return instead === undefined ? { activeLine, ...found } : { instead, line };
}

function slotsIn(
  { left = [], reservedUpTo }: Omit<Line, 'epoch'>,
  count: number,
  { limit, now, from = now, until = Infinity }: SlotRequest,
): Omit<FoundSlots, 'activeLine'> {
  // A request to give a slot back that was repeated after a lost answer leaves it twice.
  const upcoming = [...new Set(left)].filter((at) => at > now).sort((one, other) => one - other);
  const taken = upcoming.filter((at) => at >= from && at <= until).slice(0, count);
  const added = count - taken.length;
  return {
    slots: [...taken.map((at) => slotAt(at, limit)), ...slotsFrom(reservedUpTo, added, limit)],
    added,
    left: upcoming.filter((at) => !taken.includes(at)),
  };
}

/**
 * What callers get if the line's end does not suit: if it is too early, a time to ask again; if it is too late, a
 * later time, such as after the message has expired. Undefined: it suits.
 */
function alternativeToEnd(
  end: number,
  { limit, now, from = now, until = Infinity }: SlotRequest,
): Slot | undefined {
  if (end < from) return askAgainAt(from, limit);
  return end > latestEnd(limit, now, until) ? slotBeyond(limit, now, until) : undefined;
}
