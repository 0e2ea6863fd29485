import type { PollInterval } from '../../../shared/domain/retry/poll-interval.ts';

export type Poller = {
  /** Polls now, and restarts at the shortest interval. */
  wake: () => void;
  stop: () => void;
};

type PollerOptions = {
  interval: PollInterval;
  /** Resolves to whether anything changed. */
  poll: (signal: AbortSignal) => Promise<boolean>;
  onFailure: (failure: unknown) => void;
  /** Whether polling goes on after this failure. */
  isTransient: (failure: unknown) => boolean;
  /** Polling pauses while this holds; `wake` resumes it. */
  isHidden: () => boolean;
  /** Called with the time of the next poll, in milliseconds since the epoch. */
  onSchedule: (dueAt: number) => void;
};

/** Polls at the poll interval, one request at a time, until it is stopped. */
export function startPoller({
  interval: start,
  poll,
  onFailure,
  isTransient,
  isHidden,
  onSchedule,
}: PollerOptions): Poller {
  const stopped = new AbortController();
  const { signal } = stopped;
  let interval = start;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let polling = false;

  const schedule = (): void => {
    timer = setTimeout(run, interval.wait * 1000);
    onSchedule(Date.now() + interval.wait * 1000);
  };
  const succeed = (isNew: boolean): void => {
    interval = isNew ? interval.afterMessage() : interval.afterEmpty();
    schedule();
  };
  const fail = (failure: unknown): void => {
    onFailure(failure);
    interval = interval.afterEmpty();
    if (isTransient(failure)) schedule();
  };
  const run = (): void => {
    if (polling || signal.aborted || isHidden()) return;
    polling = true;
    const settled =
      <Outcome>(handle: (outcome: Outcome) => void) =>
      (outcome: Outcome): void => {
        polling = false;
        if (!signal.aborted) handle(outcome);
      };
    poll(signal).then(settled(succeed), settled(fail));
  };
  run();
  return {
    wake: () => {
      clearTimeout(timer);
      interval = start;
      run();
    },
    stop: () => {
      stopped.abort();
      clearTimeout(timer);
    },
  };
}
