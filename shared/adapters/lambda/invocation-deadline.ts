import { systemClock } from '../system-clock.ts';
import { AsyncLocalStorage } from 'node:async_hooks';

/** What a function keeps of its time after its last call, in milliseconds: to answer which messages failed, and to log. */
const ENDING_MS = 1_000;

/** Too short a time to begin a repeat in, in milliseconds: AWS's services answer within tens, rarely hundreds. */
const LEAST_REQUEST_MS = 500;

/** How long calls to AWS may go on, in milliseconds from now; 0 or less: no more may be begun. */
export type CallDeadline = { remainingMs: () => number };

/** For callers outside a function, whom nobody stops. */
export const NO_DEADLINE: CallDeadline = { remainingMs: () => Infinity };

/** What repeating a call takes: waits, and an end to them. Without a deadline there is none but the bounds of the repeats. */
export type Pacing = { sleep: (milliseconds: number) => Promise<void>; deadline?: CallDeadline };

/** The function's time is up before this call. It was not made. */
export class OutOfTimeError extends Error {
  override readonly name = 'OutOfTimeError';

  constructor() {
    super('The invocation has no time left for another call.');
  }
}

/** Whether a call can be repeated once `waitMs` have passed. */
export function hasTimeAfter(waitMs: number, { remainingMs } = NO_DEADLINE): boolean {
  return remainingMs() - waitMs >= LEAST_REQUEST_MS;
}

/**
 * How long a single request may take, of `limitMs` at most. While there is time for a repeat, half of what remains is
 * kept for it: where a request hangs, another one usually does not.
 */
export function requestMs({ remainingMs }: CallDeadline, limitMs: number): number {
  const remaining = remainingMs();
  return Math.min(limitMs, remaining, Math.max(remaining / 2, LEAST_REQUEST_MS));
}

type LambdaContext = { getRemainingTimeInMillis: () => number };

type InvocationDeadline = CallDeadline & {
  /** A Lambda handler whose calls to AWS end before its invocation does. */
  timed: <Event, Context extends LambdaContext, Result>(
    handler: (event: Event, context: Context) => Promise<Result>,
  ) => (event: Event, context: Context) => Promise<Result>;
};

/**
 * The deadline of whichever invocation asks. A function makes one at its cold start and hands it to its clients, which
 * outlive its invocations.
 */
export function invocationDeadline(): InvocationDeadline {
  const invocation = new AsyncLocalStorage<LambdaContext>();
  return {
    remainingMs: () => (invocation.getStore()?.getRemainingTimeInMillis() ?? Infinity) - ENDING_MS,
    timed: (handler) => (event, context) => invocation.run(context, () => handler(event, context)),
  };
}

/** What sending and reading again takes of time and chance, in a function. */
export function pacingOf(deadline: CallDeadline) {
  return {
    sleep: (milliseconds: number) => systemClock.sleep(milliseconds),
    random: Math.random,
    deadline,
  };
}
