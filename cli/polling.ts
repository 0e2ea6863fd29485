import type { PollIntervalOptions } from '../shared/domain/retry/poll-interval.ts';
import { poll } from '../shared/steps/poll.ts';
import type { Terminal } from './terminal.ts';

export type Polling = {
  /** Seconds. */
  limits: Pick<PollIntervalOptions, 'floor' | 'ceiling'>;
  signal: AbortSignal;
  terminal: Pick<Terminal, 'sleep' | 'printError'>;
  /** Says on stderr how the interval changes. */
  verbose: boolean;
};

/**
 * Polls until `look` returns `done`. The pause grows while nothing changes, and falls back to the floor after a change.
 * @throws AbortError once the signal is aborted
 */
export function pollUntilDone(
  { limits, signal, terminal, verbose }: Polling,
  look: () => Promise<'done' | 'changed' | 'empty'>,
): Promise<void> {
  const sleep = (milliseconds: number): Promise<void> => terminal.sleep(milliseconds, signal);
  return poll({ interval: limits, sleep, trace: verbose ? terminal.printError : undefined }, look);
}
