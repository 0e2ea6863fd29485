import type { Slot } from '../../../shared/domain/subscription/rate-limit.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { CountingWindows, RateLimits } from '../../../shared/ports/pace.ts';
import { type CountingWindow, sumOfCounts } from '../../../shared/domain/subscription/back-pressure.ts';
import { findSlots, type Line, lineStart } from '../../../shared/domain/subscription/rate-limit.ts';

/** The lines of subscriptions in a Map, which several instances may share. */
export const inMemoryRateLimits = (
  clock: Pick<Clock, 'now'>,
  lines = new Map<string, Line>(),
): RateLimits => {
  return {
    reserve: ({ queue, subscriptionId }, limit, { from, until } = {}) => {
      const now = clock.now();
      const key = `${queue}#${subscriptionId}`;
      const found = findSlots(lines.get(key), 1, { limit, now, from, until });
      if ('instead' in found) return answer(found.instead);
      const { activeLine, slots, added, left } = found;
      const end = (activeLine?.reservedUpTo ?? lineStart(limit, now)) + added * limit.intervalMs;
      // As DynamoDB stores it: whole microseconds.
      lines.set(key, { reservedUpTo: Math.round(1_000 * end) / 1_000, epoch: limit.epoch, left });
      return answer(slots[0]);
    },
    returnSlot: ({ queue, subscriptionId }, { at, epoch }) => {
      const key = `${queue}#${subscriptionId}`;
      const line = lines.get(key);
      if (line !== undefined && line.epoch === epoch && line.reservedUpTo > clock.now())
        lines.set(key, { ...line, left: [...(line.left ?? []), at] });
      return Promise.resolve();
    },
  };
};

/** Asynchronous like the real adapter. */
const answer = (slot: Slot | undefined): Promise<Slot> =>
  slot === undefined ? Promise.reject(new RangeError('No slot was found.')) : Promise.resolve(slot);

/** The windows of subscriptions in a Map, which several instances may share. */
export const inMemoryCountingWindows = (windows = new Map<string, CountingWindow>()): CountingWindows => ({
  find: ({ queue, subscriptionId }) => Promise.resolve(windows.get(`${queue}#${subscriptionId}`)),
  add: ({ queue, subscriptionId }, version, counts) => {
    const key = `${queue}#${subscriptionId}`;
    const found = windows.get(key);
    if (found === undefined || found.version < version) windows.set(key, { ...counts, version, writes: 1 });
    else if (found.version === version)
      windows.set(key, { ...sumOfCounts(found, counts), version, writes: found.writes + 1 });
    return Promise.resolve();
  },
});
