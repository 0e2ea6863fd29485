import { DAY_MS } from '../duration.ts';
import { jitteredDelay } from '../retry/jitter.ts';
import { type RateLimit, type Slot, SLOT_LEAD_MS } from './rate-limit.ts';

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
  const upcoming = left.filter((at) => at > now).sort((one, other) => one - other);
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
