import { DAY_MS } from '../duration.ts';
import type { Subscription, SubscriptionOptions } from './subscription.ts';

/**
 * What a subscription takes: one request every `intervalMs`. Slots of another epoch are of another limit, or from before the
 * subscriber became another one or was enabled again, and none of them is good any more. A later epoch is greater as text.
 */
export type RateLimit = { intervalMs: number; epoch: string };

/** A place in the line of a subscription's requests: when its request may start (milliseconds since the epoch of time). */
export type Slot = {
  at: number;
  /** Of the limit it was reserved under. None: the line was too long to stand in it, and this is when to ask again. */
  epoch?: string | undefined;
  /** When a retry is due by its policy, that stands in line before then: it may not have an earlier slot than this. */
  from?: number | undefined;
};

/**
 * The state of a subscription's line: up to when slots are given out, in milliseconds. `left`: slots before that whose
 * deliveries left the line, for those who come next.
 */
export type Line = { reservedUpTo: number; epoch: string; left?: readonly number[] };

/** The least and the most requests a second that a subscription may ask for. */
export const LEAST_PER_SECOND = 0.01;
export const MOST_PER_SECOND = 1_000;

const WINDOW_MS = 10_000;
/** In any ten seconds at most a twentieth more than `max_per_second` says. */
const TOLERATED = 1.05;

/** A slot that is older is given up: in a backlog, those that were missed would all be used at once. Milliseconds. */
export const SLOT_GOOD_FOR_MS = 400;

/** As late as a slot may be used, and what a connection may add until the request is there. */
const LATENESS_MS = SLOT_GOOD_FOR_MS + 100;

/** How long before its slot a delivery is looked at, so that everything is at hand when the moment comes. Milliseconds. */
export const SLOT_LEAD_MS = 750;

/** No slot is given out further ahead: what a subscription cannot take in a week asks again a day later. */
const LONGEST_LINE_MS = 7 * DAY_MS;
const ASK_AGAIN_MS = DAY_MS;
const READ_AGAIN_MS = 2_000;

/**
 * The time between two slots. Slots are evenly spaced (GCRA without a burst), but each may be used a little late: in ten
 * seconds fall those of ten seconds and of the greatest lateness, which is what the second term keeps within the tolerance.
 * It tells only where a twentieth of ten seconds' requests is less than one, so under some 2 a second and at odd rates.
 */
export function slotIntervalMs(maxPerSecond: number): number {
  const most = Math.max(1, Math.floor((TOLERATED * maxPerSecond * WINDOW_MS) / 1000));
  return inMicroseconds(Math.max(1000 / maxPerSecond, (WINDOW_MS + LATENESS_MS) / most));
}

/** Rounded up, so that sums of it keep few digits. */
function inMicroseconds(ms: number): number {
  return Math.ceil(ms * 1000) / 1000;
}

/** Undefined: it takes whatever comes. */
export function rateLimitOf({
  options,
  createdAt,
  changedAt = 0,
  limitedAt = 0,
}: Pick<Subscription, 'options' | 'createdAt' | 'changedAt' | 'limitedAt'>): RateLimit | undefined {
  const { max_per_second: rate } = options;
  if (rate === undefined) return undefined;
  return { intervalMs: slotIntervalMs(rate), epoch: `${Math.max(createdAt, changedAt, limitedAt)}/${rate}` };
}

/**
 * A subscription after its options changed. A limit that comes back is another one than it was: the line was given to others
 * meanwhile, and with the slots of then beside its own it would be twice as fast.
 */
export function withLimitDated(before: Subscription, after: Subscription, now: number): Subscription {
  return before.options.max_per_second === after.options.max_per_second
    ? after
    : { ...after, limitedAt: Math.max(now, (before.limitedAt ?? 0) + 1) };
}

/** Whether new options let a subscription have more requests a second. */
export function isRaised(before: SubscriptionOptions, after: SubscriptionOptions): boolean {
  return (after.max_per_second ?? Infinity) > (before.max_per_second ?? Infinity);
}

/** Whether a slot is of a lower limit than there is now, or none was to be had then. */
export function isFromLowerLimit({ epoch }: Slot, limit: RateLimit | undefined): boolean {
  return limit === undefined || epoch === undefined || rateIn(epoch) < rateIn(limit.epoch);
}

function rateIn(epoch: string): number {
  return Number(epoch.slice(epoch.indexOf('/') + 1));
}

/** Whether a slot may be used now, is still to come, or is nothing to go by any more. */
export function standingOf(
  slot: Slot | undefined,
  limit: RateLimit,
  now: number,
): 'good' | 'to_come' | 'none' {
  if (slot?.epoch !== limit.epoch || now > slot.at + SLOT_GOOD_FOR_MS) return 'none';
  return now < slot.at ? 'to_come' : 'good';
}

/** Whether a line stands at all: nobody waits in one that is used up, or of another epoch. */
export function isStanding(
  line: Line | undefined,
  { epoch }: Pick<RateLimit, 'epoch'>,
  now: number,
): line is Line {
  return line?.epoch === epoch && line.reservedUpTo > now;
}

/** Whether a line of a later epoch stands: whoever asks under this limit has read the subscription before it changed. */
function isOvertaken(line: Line | undefined, { epoch }: Pick<RateLimit, 'epoch'>, now: number): boolean {
  return line !== undefined && line.epoch > epoch && line.reservedUpTo > now;
}

/**
 * The latest end of a line to which another slot is added. `until`: when the message expires. A slot after that would be
 * nobody's, and messages that come later would stand behind it.
 */
export function latestEnd(now: number, until = Infinity): number {
  return Math.min(now + LONGEST_LINE_MS, until);
}

/** `count` slots from `first` on. */
export function slotsFrom(first: number, count: number, { intervalMs, epoch }: RateLimit): Slot[] {
  return Array.from({ length: count }, (_, index) => ({ at: Math.ceil(first + index * intervalMs), epoch }));
}

/** No more slots that were left are remembered; they take 9 KB of an item. */
export const MOST_LEFT = 1_000;

/** Milliseconds. A slot that is nearer may be under way already, and nobody else could be there in time. */
const LEFT_BEFORE_MS = 2_000;

/** Whether the slot of a delivery that ended, and that nobody was at, can be somebody else's. */
export function canLeaveLine(slot: Slot, now: number): boolean {
  return slot.epoch !== undefined && slot.at - now > LEFT_BEFORE_MS;
}

/** Which slots: none before `from` or after `until`. Milliseconds since the epoch, as `now`. */
type Wish = { limit: RateLimit; now: number; from?: number | undefined; until?: number | undefined };

/**
 * Slots in a line: those that were left in it first, the earliest first, then those at its end. `added` is how many of the latter
 * there are, `left` what is left after it. `standing`: the line; undefined: it begins now.
 */
export type FoundSlots = {
  standing: Line | undefined;
  slots: readonly Slot[];
  added: number;
  left: readonly number[];
};

/** `count` slots in a line as it is; where there are not as many, what those who ask get instead. */
export function findSlots(
  line: Line | undefined,
  count: number,
  wish: Wish,
): FoundSlots | { instead: Slot; line: Line | undefined } {
  const { limit, now } = wish;
  // They are looked at again when they read the subscription as it is.
  if (isOvertaken(line, limit, now)) return { instead: { at: now + READ_AGAIN_MS }, line };
  const standing = isStanding(line, limit, now) ? line : undefined;
  const found = slotsIn(standing ?? { reservedUpTo: now }, count, wish);
  const instead = found.added > 0 ? insteadOfEnd(standing?.reservedUpTo ?? now, wish) : undefined;
  return instead === undefined ? { standing, ...found } : { instead, line };
}

function slotsIn(
  { left = [], reservedUpTo }: Omit<Line, 'epoch'>,
  count: number,
  { limit, now, from = now, until = Infinity }: Wish,
): Omit<FoundSlots, 'standing'> {
  const toCome = left.filter((at) => at > now).sort((one, other) => one - other);
  const taken = toCome.filter((at) => at >= from && at <= until).slice(0, count);
  const added = count - taken.length;
  return {
    slots: [...taken.map((at) => ({ at, epoch: limit.epoch })), ...slotsFrom(reservedUpTo, added, limit)],
    added,
    left: toCome.filter((at) => !taken.includes(at)),
  };
}

/**
 * Where the end of a line is too early, they ask again when it is time; where it is too late, they are looked at again a day
 * later, or once their message has expired. Undefined: it is neither.
 */
function insteadOfEnd(end: number, { now, from = now, until = Infinity }: Wish): Slot | undefined {
  if (end < from) return { at: from };
  return end > latestEnd(now, until) ? { at: Math.min(now + ASK_AGAIN_MS, until + SLOT_LEAD_MS) } : undefined;
}
