import { orElse } from '../api-client/refusal.ts';
import type { PollIntervalOptions } from '../shared/domain/retry/poll-interval.ts';
import { poll } from '../shared/steps/poll.ts';
import type { Terminal } from './terminal.ts';

type Polling = {
  /** Seconds. */
  limits: Pick<PollIntervalOptions, 'floor' | 'ceiling'>;
  /** Ends the polling without an error. */
  signal: AbortSignal;
  /** Says on stderr how the interval changes. */
  verbose: boolean | undefined;
};

/** Polls until `look` returns `done`. The pause grows while nothing changes, and falls back to the floor after a change. */
export function pollUntilDone(
  { limits, signal, verbose = false }: Polling,
  { sleep, printError }: Terminal,
  look: () => Promise<'done' | 'changed' | 'empty'>,
): Promise<void> {
  const pause = (milliseconds: number): Promise<void> => sleep(milliseconds, signal);
  const polling = poll({ interval: limits, sleep: pause, trace: verbose ? printError : undefined }, look);
  return polling.catch(orElse(() => signal.aborted, undefined));
}
