import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import { pollInterval } from '../../shared/domain/retry/poll-interval.ts';

const INTERVAL = { floor: 0.2, ceiling: 1, exponent: 1.5 };

/**
 * For events that must come, on a slow machine as well: it judges nothing. A test of the deployed system may take as long
 * as two such waits.
 */
export const PATIENCE_MS = 100_000;

/**
 * The first result of `look` that is not undefined.
 * @throws an error that names `what`, if there is none within `withinMs`
 */
export const eventually = async <T>(
  what: string,
  look: () => Promise<T | undefined>,
  withinMs = PATIENCE_MS,
): Promise<T> => {
  const deadline = Date.now() + withinMs;
  for (let interval = pollInterval(INTERVAL); ; interval = interval.afterEmpty()) {
    const lookedAt = Date.now();
    const found = await look();
    if (found !== undefined) return found;
    const now = Date.now();
    if (now > deadline) throw new Error(`${what}: not within ${withinMs} ms`);
    // At least as long as the look: all tests share the processors.
    await pause(Math.max(interval.wait * 1000, now - lookedAt));
  }
};

/**
 * Lets the event loop turn until `holds`, also while the timers stand still. (`expect.poll` would move them.)
 * @throws after 15 s
 */
export const turnsUntil = async (holds: () => boolean): Promise<void> => {
  const startedAt = performance.now();
  while (!holds()) {
    if (performance.now() - startedAt > 15_000) throw new Error(`Not within 15 s: ${holds.toString()}`);
    await turn();
  }
};
