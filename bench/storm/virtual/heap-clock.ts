import type { VirtualClock } from '../../../test/support/in-memory/virtual-clock.ts';

/** Something still happened after the time by which a storm has to be over. */
export class EndlessStormError extends Error {
  override readonly name = 'EndlessStormError';

  constructor(limit: number) {
    super(`Something still happened after ${new Date(limit).toISOString()}, or far too much did.`);
  }
}

/** @throws EndlessStormError by `run` */
export const heapClock = (time: VirtualClock): VirtualClock => ({
  ...time,
  run: async (limit = Number.POSITIVE_INFINITY) => {
    if ((await time.runOut(limit)) === 'endless') throw new EndlessStormError(limit);
  },
});
