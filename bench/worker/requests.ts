import { Problem } from '../../local/install/problem.mjs';

/** The requests of subscribers that a bench waits for. */
export type Requests = {
  note: (messageId: string) => void;
  /** Waits until so many messages have been requested since the last call. @throws Problem when none comes for a minute */
  next: (messages: number, signal: AbortSignal) => Promise<void>;
};

/** Milliseconds without a request after which the bench gives up. */
const STANDSTILL_MS = 60_000;

/** Counts each message once. */
export function countedRequests(): Requests {
  let seen = new Set<string>();
  let wake = (): void => undefined;
  return {
    note: (messageId) => {
      seen.add(messageId);
      wake();
    },
    next: async (messages, signal) => {
      while (seen.size < messages) {
        signal.throwIfAborted();
        const arrived = Promise.withResolvers<undefined>();
        wake = () => {
          arrived.resolve(undefined);
        };
        const before = seen.size;
        const late = setTimeout(wake, STANDSTILL_MS);
        await arrived.promise;
        clearTimeout(late);
        if (seen.size === before)
          throw new Problem(`No request for a minute, after ${before} of ${messages} messages.`);
      }
      seen = new Set();
    },
  };
}
