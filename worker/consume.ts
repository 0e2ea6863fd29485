import type { SQSRecord } from 'aws-lambda';
import type { LambdaJournal } from '../shared/adapters/log/journal.ts';
import { type RecordHandling, reportingFailures } from '../shared/adapters/sqs/failed-records.ts';
import { MAX_ENTRIES } from '../shared/adapters/sqs/receipts.ts';
import type { InvocationContext } from '../shared/domain/receives.ts';
import type { PollIntervalOptions } from '../shared/domain/retry/poll-interval.ts';
import { poll } from '../shared/steps/poll.ts';
import type { Bell, Stop, WorkerClock } from './timing.ts';
import { HIDDEN_SECONDS, LONG_POLL_SECONDS, type WorkQueue } from './work-queue.ts';

/** What a consumer does, and with what. */
type ConsumerOptions = {
  queue: WorkQueue;
  handling: RecordHandling;
  journal: Pick<LambdaJournal, 'fault' | 'note'>;
  /** The timeout of the function that does the same, in milliseconds. */
  timeoutMs: number;
  limits: ConsumerLimits;
  stop: Stop;
  bell: Bell;
  clock: WorkerClock;
};

/** `receivers`: loops. `concurrency`: records in flight at most. `interval`: of the poller, in seconds. */
export type ConsumerLimits = { receivers: number; concurrency: number; interval: PollIntervalOptions };

export type Consumer = ReturnType<typeof startConsumer>;

/** Receives and handles the records of a queue, acknowledging each separately, until the worker stops. */
export function startConsumer(options: ConsumerOptions) {
  const { queue, limits, stop, journal } = options;
  const slots = countingSlots(limits.concurrency, options.clock);
  const inFlight = inFlightRecords(options);
  const handle = recordHandler(options, inFlight);
  let isReady = false;

  /** Does not wait for messages until SQS has answered a receive, so that a refusal shows at once. */
  const receive = async (most: number): Promise<SQSRecord[]> => {
    const records = await queue.receive(most, isReady ? LONG_POLL_SECONDS : 0, stop.receiving);
    isReady = true;
    return records;
  };

  const look = async (): Promise<'message' | 'empty' | 'failed' | 'done'> => {
    const room = await slots.take(MAX_ENTRIES);
    const records = stop.signal.aborted ? 'done' : await receive(room).catch(failedReceive);
    if (typeof records === 'string') {
      slots.give(room);
      return records;
    }
    slots.give(room - records.length);
    if (stop.signal.aborted) {
      await returnUnstarted(records);
      slots.give(records.length);
      return 'done';
    }
    for (const record of records)
      void handle(record).finally(() => {
        slots.give(1);
      });
    if (records.length > 0) options.bell.ring();
    return records.length > 0 ? 'message' : 'empty';
  };

  const failedReceive = (error: unknown): 'failed' | 'done' => {
    if (stop.signal.aborted) return 'done';
    if (isRefusal(error)) {
      if (!isReady) throw new WorkerRefusedError(`Receiving from the ${queue.name} queue`, error);
      journal.fault(error, { sqsQueue: queue.name });
    } else {
      const reason = error instanceof Error ? error.name : 'unknown';
      const throttled = isThrottled(error);
      journal.note({ fact: 'aws_call_failed', awsService: 'sqs', reason, throttled, repeated: true });
    }
    return 'failed';
  };

  const returnUnstarted = async (records: readonly SQSRecord[]): Promise<void> => {
    if (records.length > 0)
      await queue.hide(records, 0).catch((error: unknown) => {
        journal.fault(error, { sqsQueue: queue.name });
      });
  };

  const loops = Array.from({ length: limits.receivers }, () => poll(pollOptions(options), look));
  return {
    /** Resolves after the stop, when all records have ended. @throws WorkerRefusedError before the first answer of SQS */
    done: Promise.all(loops).then(async () => {
      // Every place is free when no record is left.
      for (let free = 0; free < limits.concurrency;) free += await slots.take(limits.concurrency);
    }),
    /** For every `EXTEND_EVERY_MS`: keeps records hidden that are being handled. */
    extend: inFlight.extend,
    /** `isReady`: SQS has answered a receive. */
    state: () => ({ isReady, inFlight: inFlight.count() }),
  };
}

/** Handles a record and deletes it. Never rejects: a record that is not deleted comes again. */
function recordHandler(
  { queue, handling, journal }: ConsumerOptions,
  inFlight: ReturnType<typeof inFlightRecords>,
) {
  const handle = reportingFailures(journal, handling);
  return async (record: SQSRecord): Promise<void> => {
    const noteFault = (error: unknown): void => {
      journal.fault(error, { sqsQueue: queue.name, sqsMessageId: record.messageId });
    };
    try {
      await inFlight.run(record, (context) => handle(record, context));
    } catch (error) {
      // `handle` has reported all others, and made the record visible again.
      if (error instanceof RecordOverdueError) noteFault(error);
      return;
    }
    await queue.remove(record).catch(noteFault);
  };
}

function pollOptions({ queue, journal, limits, stop, bell, clock }: ConsumerOptions) {
  return {
    interval: limits.interval,
    trace: (trace: string, interval: number) => {
      journal.note({ fact: 'polled', sqsQueue: queue.name, trace, interval });
    },
    // Work elsewhere is no reason to ask a queue again that has just failed.
    sleep: (milliseconds: number, found: 'empty' | 'failed' | 'changed') =>
      found === 'failed'
        ? clock.sleep(milliseconds, stop.signal).catch(() => undefined)
        : bell.sleep(milliseconds),
  };
}

/** Milliseconds. Places of a busy worker become free one by one; a receive for each would cost as much as their work. */
const GATHER_MS = 25;

/** Places for records in flight, so that a worker never receives more than it can start. */
function countingSlots(limit: number, { sleep }: WorkerClock) {
  let free = limit;
  let given = Promise.withResolvers<undefined>();
  const isFull = (): boolean => free === 0;
  return {
    /** Waits until a place is free, and where none was, for a moment more; takes up to `most`, and returns how many. */
    take: async (most: number): Promise<number> => {
      while (isFull()) {
        await given.promise;
        await sleep(GATHER_MS);
      }
      const count = Math.min(free, most);
      free -= count;
      return count;
    },
    give: (count: number): void => {
      free += count;
      if (isFull()) return;
      given.resolve(undefined);
      given = Promise.withResolvers();
    },
  };
}

/** AWS refuses this worker, and no repeat can help: no permission, wrong keys, or no such queue in this region. */
export class WorkerRefusedError extends Error {
  override readonly name = 'WorkerRefusedError';
  constructor(what: string, cause: unknown) {
    const why = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
    super(`${what}: ${why}`, { cause });
  }
}

/** Errors that the SDK throws without a request. */
const OWN_ERRORS: ReadonlySet<string> = new Set(['CredentialsProviderError', 'TokenProviderError']);

/** Whether the answer was a refusal: of the caller or of what it asks for, rather than a failure that may pass. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (OWN_ERRORS.has(error.name) || error.message === 'Region is missing') return true;
  return '$fault' in error && error.$fault === 'client' && !isThrottled(error);
}

/** Error codes of throttled requests. SQS answers OverLimit while 120,000 messages of a queue are in flight. */
const THROTTLED = /Throttl|OverLimit|TooManyRequests|LimitExceeded|Throughput/;

function isThrottled(error: unknown): boolean {
  return error instanceof Error && THROTTLED.test(error.name);
}

/** A record's work has not ended long after its timeout. Its place is free again, and SQS redelivers it. */
class RecordOverdueError extends Error {
  override readonly name = 'RecordOverdueError';
  constructor(seconds: number) {
    super(`A record was still being handled after ${seconds} s.`);
  }
}

/** Milliseconds between two extensions. A stall of this length does not show a message to others. */
export const EXTEND_EVERY_MS = (HIDDEN_SECONDS * 1000) / 3;

/** Milliseconds after the timeout, at which all AWS calls have ended. */
const OVERDUE_AFTER_MS = 5_000;

type Entry = { record: SQSRecord; receivedAt: number; giveUp: (error: Error) => void };

/** The records that a consumer is handling. */
function inFlightRecords({ queue, timeoutMs, stop, clock }: ConsumerOptions) {
  const entries = new Set<Entry>();
  return {
    /**
     * Runs `work` with a context as Lambda's: the time until the step's timeout or the end of the worker.
     * @throws what `work` throws; RecordOverdueError
     */
    run: async (record: SQSRecord, work: (context: InvocationContext) => Promise<void>): Promise<void> => {
      const receivedAt = clock.now();
      const givenUp = Promise.withResolvers<never>();
      const entry: Entry = { record, receivedAt, giveUp: givenUp.reject };
      entries.add(entry);
      const context = {
        getRemainingTimeInMillis: () => Math.min(receivedAt + timeoutMs, stop.endsAt()) - clock.now(),
      };
      try {
        await Promise.race([work(context), givenUp.promise]);
      } finally {
        entries.delete(entry);
      }
    },
    /** Hides records again that are still being handled; gives up those that have outlived their timeout. */
    extend: async (): Promise<void> => {
      const now = clock.now();
      const old = [...entries].filter(({ receivedAt }) => now - receivedAt >= EXTEND_EVERY_MS);
      for (const { receivedAt, giveUp } of old)
        if (now - receivedAt > timeoutMs + OVERDUE_AFTER_MS)
          giveUp(new RecordOverdueError(Math.round((now - receivedAt) / 1000)));
      const handled = old.filter(({ receivedAt }) => now - receivedAt <= timeoutMs);
      const records = handled.map(({ record }) => record);
      if (records.length > 0) await queue.hide(records, HIDDEN_SECONDS);
    },
    count: (): number => entries.size,
  };
}
