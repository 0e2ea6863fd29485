import type { PressureReason, WaitingReason } from './vocabulary.ts';
import type { Destination } from './destination.ts';
import type { Subscription, SubscriptionOptions } from './subscription.ts';

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
  /** Without an epoch: how much later it may ask (slot-line.ts, `spreadOut`). Not stored. Milliseconds. */
  spreadMs?: number;
};

/** Why the delivery with this slot waits. */
export function waitingReasonOf({ reason }: Slot): WaitingReason {
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

type Limited = Pick<
  Subscription,
  'destination' | 'options' | 'createdAt' | 'changedAt' | 'limitedAt' | 'pressure'
>;

/** The limit that `max_per_second` sets; undefined: unlimited. `paceOf` (back-pressure.ts) adds the pressure. */
export function rateLimitOf(subscription: Limited): RateLimit | undefined {
  const { max_per_second: rate } = subscription.options;
  if (rate === undefined || !isPaced(subscription.destination)) return undefined;
  return { intervalMs: slotIntervalMs(rate), epoch: epochOf(timeWithoutPressure(subscription), rate) };
}

/** Whether we set the pace. A receiver that fetches sets its own. */
export function isPaced({ kind }: Destination): boolean {
  switch (kind) {
    case 'webhook':
      return true;
    case 'pull':
      return false;
  }
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
export function epochTime({ createdAt, changedAt = 0, limitedAt = 0, pressure }: Dated): number {
  return Math.max(createdAt, changedAt, limitedAt, pressure?.at ?? 0);
}

/**
 * Dates a change of the limit. A limit that returns to an earlier value needs a new epoch: slots of the old line
 * would double its rate.
 */
export function withLimitDated(before: Subscription, after: Subscription, now: number): Subscription {
  return before.options.max_per_second === after.options.max_per_second
    ? after
    : { ...after, limitedAt: timeOfNewEpoch(before, now) };
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
export function epochOf(time: number, perSecond: number): string {
  return `${time}@${perSecond}`;
}

function rateIn(epoch: string): number {
  return Number(epoch.split(/[/@]/)[1]);
}

/** Whether a slot may be used now, later, or not at all. */
export function slotStateOf(
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
