import {
  isOvertaken,
  isStanding,
  latestEnd,
  noSlot,
  noSlotYet,
  slotsLeftIn,
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
      const standing = isStanding(line, limit, now) ? line : { reservedUpTo: now, epoch: limit.epoch };
      const { slots, added, left } = slotsLeftIn(standing, 1, { limit, now, until });
      const end = standing.reservedUpTo;
      if (added > 0 && end > latestEnd(now, until)) return answer(noSlot(now, until));
      lines.set(key, { reservedUpTo: end + added * limit.intervalMs, epoch: limit.epoch, left });
      return answer(slots[0] ?? noSlot(now));
    },
    leave: ({ queue, subscriptionId }, { at, epoch }) => {
      const key = `${queue}#${subscriptionId}`;
      const line = lines.get(key);
      if (line !== undefined && line.epoch === epoch && line.reservedUpTo > clock.now())
        lines.set(key, { ...line, left: [...(line.left ?? []), at] });
      return Promise.resolve();
    },
  };
};

/** Asynchronous as the real one. */
const answer = (slot: Slot): Promise<Slot> => Promise.resolve(slot);
