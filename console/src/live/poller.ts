import type { PollInterval } from '../../../shared/domain/retry/poll-interval.ts';

export type Poller = {
  /** Polls now, and restarts at the shortest interval. */
  wake: () => void;
  stop: () => void;
};

type Polling = {
  interval: PollInterval;
  /** Resolves to whether anything changed. */
  look: (signal: AbortSignal) => Promise<boolean>;
  failed: (failure: unknown) => void;
  /** Whether polling goes on after this failure. */
  mayPass: (failure: unknown) => boolean;
  /** Polling pauses while this holds; `wake` resumes it. */
  isHidden: () => boolean;
};

/** Polls at the poll interval, one request at a time, until it is stopped. */
export function startPoller({ interval: start, look, failed, mayPass, isHidden }: Polling): Poller {
  const stopped = new AbortController();
  const { signal } = stopped;
  let interval = start;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let looking = false;

  const again = (): void => {
    timer = setTimeout(turn, interval.wait * 1000);
  };
  const found = (isNew: boolean): void => {
    interval = isNew ? interval.afterMessage() : interval.afterEmpty();
    again();
  };
  const foundNothing = (failure: unknown): void => {
    failed(failure);
    interval = interval.afterEmpty();
    if (mayPass(failure)) again();
  };
  const turn = (): void => {
    if (looking || signal.aborted || isHidden()) return;
    looking = true;
    const ended =
      <Outcome>(take: (outcome: Outcome) => void) =>
      (outcome: Outcome): void => {
        looking = false;
        if (!signal.aborted) take(outcome);
      };
    look(signal).then(ended(found), ended(foundNothing));
  };
  turn();
  return {
    wake: () => {
      clearTimeout(timer);
      interval = start;
      turn();
    },
    stop: () => {
      stopped.abort();
      clearTimeout(timer);
    },
  };
}
