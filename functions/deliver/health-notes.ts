import { ANY_INVOCATION_MS } from '../../shared/domain/delivery/lease.ts';
import type { Clock } from '../../shared/ports/clock.ts';

/**
 * What the attempts of one instance of the function have noted of their subscriptions: those side by side go by the same
 * reading of a subscription, so that each would write what one of them has written, and be refused at the price of a write.
 */
export type HealthNotes = {
  /**
   * Makes a change, unless it was settled since the attempt began, or is under way. `make` answers whether it is settled: made,
   * or refused for good. If not, or if it throws, the next attempt that asks for it makes it.
   */
  once(name: string, startedAt: number, make: () => Promise<boolean>): Promise<void>;
};

/** For as long as the instance lives; what it has settled is kept for as long as an attempt from before may be under way. */
export function healthNotes(clock: Pick<Clock, 'now'>): HealthNotes {
  /** When each change was settled, in the order of that; Infinity: it is under way. */
  const settledAt = new Map<string, number>();

  const settle = (name: string, at: number): void => {
    settledAt.delete(name);
    settledAt.set(name, at);
  };

  const forgetOld = (): void => {
    const oldest = clock.now() - ANY_INVOCATION_MS;
    for (const [name, at] of settledAt) {
      if (at >= oldest) return;
      settledAt.delete(name);
    }
  };

  return {
    once: async (name, startedAt, make) => {
      if ((settledAt.get(name) ?? -Infinity) > startedAt) return;
      forgetOld();
      settle(name, Infinity);
      let isSettled = false;
      try {
        isSettled = await make();
      } finally {
        if (isSettled) settle(name, clock.now());
        else settledAt.delete(name);
      }
    },
  };
}
