import { pollInterval, type PollIntervalOptions } from '../shared/domain/retry/poll-interval.ts';
import type { Terminal } from './terminal.ts';

export type Polling = {
  /** Seconds. */
  limits: Pick<PollIntervalOptions, 'floor' | 'ceiling'>;
  signal: AbortSignal;
  terminal: Pick<Terminal, 'sleep' | 'printError'>;
  /** Says on stderr how long each pause was and the next will be. */
  verbose: boolean;
};

/**
 * Polls until `look` returns `done`. The pause grows while nothing changes, and falls back to the floor after a change.
 * @throws AbortError once the signal is aborted
 */
export async function pollUntilDone(
  { limits, signal, terminal, verbose }: Polling,
  look: () => Promise<'done' | 'changed' | 'empty'>,
): Promise<void> {
  let interval = pollInterval(limits);
  let slept = 0;
  for (;;) {
    const found = await look();
    if (found === 'done') return;
    interval = found === 'changed' ? interval.afterMessage() : interval.afterEmpty();
    if (verbose) terminal.printError(`${found}: slept ${slept} s, next ${interval.wait} s`);
    await terminal.sleep(interval.wait * 1000, signal);
    slept = interval.wait;
  }
}
