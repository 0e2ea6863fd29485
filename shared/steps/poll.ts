import {
  pollInterval,
  pollTrace,
  type PollInterval,
  type PollIntervalOptions,
  type PollResult,
} from '../domain/retry/poll-interval.ts';

type PollOptions = {
  interval: PollIntervalOptions;
  /** Milliseconds. Resolves to `woken` if it ended early because there is work. An error ends the poller. */
  sleep: (milliseconds: number, found: Exclude<PollResult, 'message' | 'woken'>) => Promise<unknown>;
  /** Gets each change of the interval as a line of text, and the new interval in seconds. @default no trace */
  trace?: ((line: string, interval: number) => void) | undefined;
};

/**
 * Looks again and again until the result is `done`, with pauses that grow while nothing is found
 * (docs/worker.md#polling). After `message` the next look follows at once. `look` gets the interval, in seconds.
 */
export async function poll(
  { interval: options, sleep, trace = () => undefined }: PollOptions,
  look: (interval: number) => Promise<Exclude<PollResult, 'woken'> | 'done'>,
): Promise<void> {
  let interval = pollInterval(options);
  const change = (found: PollResult, next: PollInterval): void => {
    // Nothing changes while messages come without a break.
    if (found !== 'message' || next.wait !== interval.wait)
      trace(pollTrace(found, interval, next), next.wait);
    interval = next;
  };
  for (;;) {
    const found = await look(interval.wait);
    if (found === 'done') return;
    if (found === 'message' || found === 'changed') {
      change(found, interval.afterMessage());
      if (found === 'changed') await sleep(interval.wait * 1000, found);
    } else {
      const ended = await sleep(interval.wait * 1000, found);
      if (ended === 'woken') change('woken', interval.afterMessage());
      else change(found, interval.afterEmpty());
    }
  }
}
