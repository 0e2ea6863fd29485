import { once } from 'node:events';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** The exit status that shells use for a program ended by Ctrl-C. */
export const INTERRUPTED = 130;

/** The source of Ctrl-C signals: `process`. */
export type Signals = {
  on: (signal: (typeof SIGNALS)[number], listener: () => void) => unknown;
  off: (signal: (typeof SIGNALS)[number], listener: () => void) => unknown;
};

/** Milliseconds. Under npm, one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const SAME_INTERRUPT_MS = 1_000;

/**
 * Runs the work with a signal that Ctrl-C aborts. `again` is called for a further Ctrl-C, which by default does nothing.
 */
export async function untilInterrupted<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  signals: Signals = process,
  again: () => void = () => undefined,
): Promise<Result> {
  const interrupted = new AbortController();
  let interruptedAt = Infinity;
  const abort = (): void => {
    if (performance.now() - interruptedAt >= SAME_INTERRUPT_MS) again();
    if (interrupted.signal.aborted) return;
    interruptedAt = performance.now();
    interrupted.abort();
  };
  for (const name of SIGNALS) signals.on(name, abort);
  try {
    return await work(interrupted.signal);
  } finally {
    for (const name of SIGNALS) signals.off(name, abort);
  }
}

/** Milliseconds: the longest delay of a timer. A longer one would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A signal that is also aborted after this many seconds, if they are given. */
export function orAfter(signal: AbortSignal, seconds: number | undefined): AbortSignal {
  if (seconds === undefined) return signal;
  const over = new AbortController();
  const endsAt = Date.now() + seconds * 1000;
  const wait = (): void => {
    const left = endsAt - Date.now();
    if (left <= 0) over.abort();
    else setTimeout(wait, Math.min(left, MAX_TIMER_MS)).unref();
  };
  wait();
  return AbortSignal.any([signal, over.signal]);
}

/** Waits until the signal is aborted. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
