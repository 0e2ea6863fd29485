import type { Clock } from '../../../shared/ports/clock.ts';
import type { Chance } from '../../../test/simulation/chance.ts';

/** shared/adapters/aws/retries.ts: the request itself and two repeats. */
const MOST_REQUESTS = 3;

/** The SDK's standard strategy: a second at most before the first repeat of a throttled request, then twice as long. */
const THROTTLED_MS = 1_000;

/** What a client may spend on repeats; one takes so much of it, and a success gives it back. */
const CAPACITY = 500;
const COST = 5;

/**
 * How a client of ours repeats what is throttled (shared/adapters/aws/retries.ts on the SDK's standard strategy), on a clock
 * that is not the machine's. Throws what the last request threw.
 */
export const repeating = (
  clock: Pick<Clock, 'sleep'>,
  chance: Chance,
): ((request: () => void) => Promise<void>) => {
  let capacity = CAPACITY;
  return async (request) => {
    for (let repeats = 0; ; repeats += 1) {
      try {
        request();
        capacity = Math.min(CAPACITY, capacity + (repeats === 0 ? 1 : COST));
        return;
      } catch (error) {
        if (repeats + 1 >= MOST_REQUESTS || capacity < COST) throw error;
      }
      capacity -= COST;
      await clock.sleep(Math.floor(chance.next() * THROTTLED_MS * 2 ** repeats));
    }
  };
};
