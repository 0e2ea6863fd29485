import {
  type Slot,
  findSlots,
  type Line,
  lineStart,
} from '../../../shared/domain/subscription/rate-limit.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { RateLimits } from '../../../shared/ports/pace.ts';

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
