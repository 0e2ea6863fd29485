import { setTimeout as pause } from 'node:timers/promises';

/** Time for a worker. Milliseconds. `sleep` rejects once the signal is aborted. */
export type WorkerClock = {
  now: () => number;
  sleep: (milliseconds: number, signal?: AbortSignal) => Promise<unknown>;
};

export const workerClock: WorkerClock = {
  now: () => Date.now(),
  sleep: (milliseconds, signal) => pause(milliseconds, undefined, signal === undefined ? {} : { signal }),
};

/** The end of a worker. */
export type Stop = {
  /** Aborted when the worker has to stop receiving. */
  signal: AbortSignal;
  /** Aborted a second later, for receives in flight: one that finds messages answers before, and they are returned. */
  receiving: AbortSignal;
  /** By when work must have ended, in milliseconds since the epoch; Infinity before the stop. */
  endsAt: () => number;
};

export type Bell = ReturnType<typeof createBell>;

/** Ends the sleeps of all idle receive loops when one of them finds work: its messages often cause others. */
export function createBell({ sleep }: Pick<WorkerClock, 'sleep'>, { signal }: Pick<Stop, 'signal'>) {
  let round = new AbortController();
  const ring = (): void => {
    round.abort();
    round = new AbortController();
  };
  signal.addEventListener('abort', ring);
  return {
    ring,
    /** Milliseconds. Resolves to `woken` if the bell ended the sleep. */
    sleep: async (milliseconds: number): Promise<'woken' | 'rested'> => {
      if (signal.aborted) return 'woken';
      const current = round.signal;
      try {
        await sleep(milliseconds, current);
        return 'rested';
      } catch (error) {
        if (!current.aborted) throw error;
        return 'woken';
      }
    },
  };
}

/** Repeats `work` after every `milliseconds` until the signal is aborted. An error of `work` ends it. */
export async function every(
  { sleep }: Pick<WorkerClock, 'sleep'>,
  milliseconds: number,
  { signal, work }: { signal: AbortSignal; work: () => Promise<void> },
): Promise<void> {
  const isEnded = (): boolean => signal.aborted;
  while (!isEnded()) {
    try {
      await sleep(milliseconds, signal);
    } catch (error) {
      if (isEnded()) return;
      throw error;
    }
    await work();
  }
}
