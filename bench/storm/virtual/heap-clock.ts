import type { VirtualClock } from '../../../test/support/in-memory/virtual-clock.ts';
import type { VirtualTime } from '../../../test/simulation/virtual-time.ts';

/** Something still happened after the time by which a storm has to be over. */
export class EndlessStormError extends Error {
  override readonly name = 'EndlessStormError';

  constructor(limit: number) {
    super(`Something still happened after ${new Date(limit).toISOString()}, or far too much did.`);
  }
}

/** The clock of the twins on the simulation's time, whose heap bears tens of thousands of wake-ups that lie ahead. */
export const heapClock = (time: VirtualTime): VirtualClock => ({
  now: () => time.now(),
  at: (at, callback) => {
    time.at(at, callback);
  },
  sleep: (milliseconds) =>
    new Promise((resolve) => {
      time.at(time.now() + milliseconds, resolve);
    }),
  run: async (limit = Number.POSITIVE_INFINITY) => {
    if ((await time.run(limit)) === 'endless') throw new EndlessStormError(limit);
  },
});
