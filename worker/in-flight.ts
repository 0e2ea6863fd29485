import type { SQSRecord } from 'aws-lambda';
import type { InvocationContext } from '../shared/domain/receives.ts';
import { HIDDEN_SECONDS, type WorkQueue } from './work-queue.ts';
import type { Stop, WorkerClock } from './timing.ts';

/** The records that a consumer is handling. */
export type InFlight = {
  /**
   * Runs `work` with a context as Lambda's: an id that no other receive has, and the time until the step's timeout or
   * the end of the worker. @throws what `work` throws; RecordOverdueError
   */
  run: (record: SQSRecord, work: (context: InvocationContext) => Promise<void>) => Promise<void>;
  /** Hides records again that are still being handled; gives up those that have outlived their timeout. */
  extend: () => Promise<void>;
  readonly count: number;
};

/** A record's work has not ended long after its timeout. Its place is free again, and SQS redelivers it. */
export class RecordOverdueError extends Error {
  override readonly name = 'RecordOverdueError';
  constructor(seconds: number) {
    super(`A record was still being handled after ${seconds} s.`);
  }
}

/** Milliseconds between two extensions. A stall of this length does not show a message to others. */
export const EXTEND_EVERY_MS = (HIDDEN_SECONDS * 1000) / 3;

/** Milliseconds after the timeout, at which all AWS calls have ended. */
const OVERDUE_AFTER_MS = 5_000;

type InFlightOptions = {
  queue: Pick<WorkQueue, 'hide'>;
  timeoutMs: number;
  stop: Stop;
  clock: Pick<WorkerClock, 'now'>;
  newId: () => string;
};

type Entry = { record: SQSRecord; receivedAt: number; giveUp: (error: Error) => void };

export function inFlightRecords({ queue, timeoutMs, stop, clock, newId }: InFlightOptions): InFlight {
  const entries = new Set<Entry>();
  return {
    run: async (record, work) => {
      const receivedAt = clock.now();
      const givenUp = Promise.withResolvers<never>();
      const entry: Entry = { record, receivedAt, giveUp: givenUp.reject };
      entries.add(entry);
      const context = {
        awsRequestId: newId(),
        getRemainingTimeInMillis: () => Math.min(receivedAt + timeoutMs, stop.endsAt()) - clock.now(),
      };
      try {
        await Promise.race([work(context), givenUp.promise]);
      } finally {
        entries.delete(entry);
      }
    },
    extend: async () => {
      const now = clock.now();
      const old = [...entries].filter(({ receivedAt }) => now - receivedAt >= EXTEND_EVERY_MS);
      for (const { receivedAt, giveUp } of old)
        if (now - receivedAt > timeoutMs + OVERDUE_AFTER_MS)
          giveUp(new RecordOverdueError(Math.round((now - receivedAt) / 1000)));
      const handled = old.filter(({ receivedAt }) => now - receivedAt <= timeoutMs);
      if (handled.length > 0)
        await queue.hide(
          handled.map(({ record }) => record),
          HIDDEN_SECONDS,
        );
    },
    get count() {
      return entries.size;
    },
  };
}
