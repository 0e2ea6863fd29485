import type { PollInterval } from '../../../shared/domain/retry/poll-interval.ts';

export type Poller = {
  /** Looks at once, and often again from then on. */
  wake: () => void;
  stop: () => void;
};

type Polling = {
  interval: PollInterval;
  /** Whether there was something new. */
  look: (signal: AbortSignal) => Promise<boolean>;
  failed: (failure: unknown) => void;
  /** Whether looking again may help. */
  mayPass: (failure: unknown) => boolean;
  /** Nobody sees what would be found; `wake` goes on. */
  isHidden: () => boolean;
};

/** Looks now and again by the poll interval, one look at a time, until it is stopped. */
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
