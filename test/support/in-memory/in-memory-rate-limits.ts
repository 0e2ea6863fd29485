import {
  isOvertaken,
  isStanding,
  latestEnd,
  noSlot,
  noSlotYet,
  slotsFrom,
  type Line,
  type Slot,
} from '../../../shared/domain/subscription/rate-limit.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { RateLimits } from '../../../shared/ports/subscriptions.ts';

/** The lines of subscriptions in a Map, which several may share. */
export const inMemoryRateLimits = (
  clock: Pick<Clock, 'now'>,
  lines = new Map<string, Line>(),
): RateLimits => {
  return {
    reserve: ({ queue, subscriptionId }, limit, until) => {
      const now = clock.now();
      const key = `${queue}#${subscriptionId}`;
      const line = lines.get(key);
      if (line !== undefined && isOvertaken(line, limit, now)) return answer(noSlotYet(now));
      const first = isStanding(line, limit, now) ? line.reservedUpTo : now;
      if (first > latestEnd(now, until)) return answer(noSlot(now, until));
      lines.set(key, { reservedUpTo: first + limit.intervalMs, epoch: limit.epoch });
      const [slot = noSlot(now)] = slotsFrom(first, 1, limit);
      return answer(slot);
    },
  };
};

/** Asynchronous as the real one. */
const answer = (slot: Slot): Promise<Slot> => Promise.resolve(slot);
