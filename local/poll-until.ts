import { setTimeout as pause } from 'node:timers/promises';
import { pollInterval, type PollIntervalOptions } from '../shared/domain/retry/poll-interval.ts';

/** Polls until `look` returns a value; undefined after the timeout. */
export async function pollUntil<T>(
  look: () => Promise<T | undefined>,
  { withinMs, interval, signal }: { withinMs: number; interval: PollIntervalOptions; signal?: AbortSignal },
): Promise<T | undefined> {
  const deadline = Date.now() + withinMs;
  for (let next = pollInterval(interval); ; next = next.afterEmpty()) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() >= deadline) return undefined;
    await pause(next.wait * 1000, undefined, { signal });
  }
}
