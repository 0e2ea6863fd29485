import type { Clock } from '../../../shared/ports/clock.ts';

export type VirtualClock = Clock & {
  /** Calls back at a time; in the order of times, then of calls. */
  at(time: number, callback: () => void): void;
  /** Runs what is due until nothing is left, or until `deadline`, without any real time passing. */
  run(deadline?: number): Promise<void>;
};

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Time that passes only when everybody waits for it. Twins answer in microtasks, so an idle turn means that all wait. */
export const virtualClock = (start = Date.UTC(2026, 0, 1)): VirtualClock => {
  let now = start;
  let calls = 0;
  const pending: { time: number; call: number; callback: () => void }[] = [];

  const at = (time: number, callback: () => void): void => {
    calls += 1;
    const entry = { time: Math.max(time, now), call: calls, callback };
    const index = pending.findLastIndex((other) => other.time <= entry.time);
    pending.splice(index + 1, 0, entry);
  };

  return {
    now: () => now,
    sleep: (milliseconds) =>
      new Promise((resolve) => {
        at(now + milliseconds, resolve);
      }),
    at,
    run: async (deadline = Number.POSITIVE_INFINITY) => {
      await settled();
      for (let next = pending[0]; next !== undefined && next.time <= deadline; next = pending[0]) {
        pending.shift();
        now = next.time;
        next.callback();
        await settled();
      }
      if (Number.isFinite(deadline)) now = Math.max(now, deadline);
    },
  };
};
