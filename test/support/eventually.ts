import { setTimeout as pause } from 'node:timers/promises';
import { pollInterval } from '../../shared/domain/retry/poll-interval.ts';

const INTERVAL = { floor: 0.1, ceiling: 1, exponent: 1.5 };

/**
 * The first result of `look` that is not undefined.
 * @throws an error that names `what`, if there is none within `withinMs`
 */
export const eventually = async <T>(
  what: string,
  look: () => Promise<T | undefined>,
  withinMs = 30_000,
): Promise<T> => {
  const deadline = Date.now() + withinMs;
  for (let interval = pollInterval(INTERVAL); ; interval = interval.afterEmpty()) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`${what}: not within ${withinMs} ms`);
    await pause(interval.wait * 1000);
  }
};
