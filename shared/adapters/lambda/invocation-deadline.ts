import type { InvocationContext } from '../../domain/receives.ts';
import { systemClock } from '../system-clock.ts';
import { AsyncLocalStorage } from 'node:async_hooks';

/** Milliseconds reserved after the last call, to report failed messages and to log. */
const ENDING_MS = 1_000;

/**
 * Milliseconds below which no retry starts. AWS services usually answer within tens of milliseconds, rarely
 * hundreds.
 */
const LEAST_REQUEST_MS = 500;

/** How much longer AWS calls may take, in milliseconds from now. At 0 or less no call may start. */
export type CallDeadline = { remainingMs: () => number };

/** For callers outside a function, which have no time limit. */
export const NO_DEADLINE: CallDeadline = { remainingMs: () => Infinity };

/** How to wait between retries, and until when. Without a deadline only the number of retries is limited. */
export type Pacing = { sleep: (milliseconds: number) => Promise<void>; deadline?: CallDeadline };

/** The invocation has no time left for a call. The call was not made. */
export class OutOfTimeError extends Error {
  override readonly name = 'OutOfTimeError';
  readonly isTransient = true;

  constructor() {
    super('The invocation has no time left for another call.');
  }
}

/** Whether a call can be retried after `waitMs`. */
export function hasTimeAfter(waitMs: number, { remainingMs } = NO_DEADLINE): boolean {
  return remainingMs() - waitMs >= LEAST_REQUEST_MS;
}

/**
 * Timeout of a single request in milliseconds, at most `limitMs`. While there is time for a retry, half of the
 * remaining time is reserved for it: if one request hangs, another usually does not.
 */
export function requestMs({ remainingMs }: CallDeadline, limitMs: number): number {
  const remaining = remainingMs();
  return Math.min(limitMs, remaining, Math.max(remaining / 2, LEAST_REQUEST_MS));
}

/**
 * The deadline of the current invocation. A function creates it once, at cold start, and passes it to its clients,
 * which serve many invocations.
 */
export function invocationDeadline() {
  const invocation = new AsyncLocalStorage<InvocationContext>();
  return {
    remainingMs: (): number => (invocation.getStore()?.getRemainingTimeInMillis() ?? Infinity) - ENDING_MS,
    /** Wraps a Lambda handler, so that its AWS calls end before its invocation does. */
    timed:
      <Event, Context extends InvocationContext, Result>(
        handler: (event: Event, context: Context) => Promise<Result>,
      ) =>
      (event: Event, context: Context): Promise<Result> =>
        invocation.run(context, () => handler(event, context)),
  };
}

/** Waits, randomness and deadline for retries in a function. */
export function createPacing(deadline: CallDeadline) {
  return {
    sleep: (milliseconds: number) => systemClock.sleep(milliseconds),
    random: Math.random,
    deadline,
  };
}
