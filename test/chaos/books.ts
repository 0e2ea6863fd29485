import { setTimeout as pause } from 'node:timers/promises';
import { sendBack } from '../../cli/dead-letters/change.ts';
import { processDeadLetters } from '../../cli/dead-letters/process-dead-letters.ts';
import { sqsDeadLetterQueue } from '../../shared/adapters/sqs/dead-letter-queue.ts';
import { sqsWorkQueues } from '../../shared/adapters/sqs/queues.ts';
import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import { type Delivery, isOpen } from '../../shared/domain/delivery/delivery.ts';
import type { TerminalStatus } from '../../shared/domain/delivery/vocabulary.ts';
import {
  readDeliveryDeadLetter,
  readIngressDeadLetter,
  readOperationDeadLetter,
} from '../../shared/wire/jobs/redrive.ts';
import { messagesOn, type System } from './deployed-system.ts';
import type { FaultLog } from './fault-proxy.ts';
import type { Reply } from './subscribers.ts';

export type Books = ReturnType<typeof booksOf>;

/** Compares the records of the accepted messages with the requests that the subscribers logged. */
export const booksOf = (pairs: readonly Pair[], faults: FaultLog) => {
  const books = {
    deliveries: pairs.length,
    delivered: 0,
    rejected: 0,
    exhausted: 0,
    cancelled: 0,
    /** Deliveries that did not finish, or are recorded as delivered although no attempt can have received a 2xx. */
    lost: 0,
    /** Requests without a recorded attempt. */
    duplicates: 0,
    /** Duplicates explained neither by a kill of the process that sent them nor by a failed call about their message. */
    unexplainedDuplicates: 0,
  };
  for (const pair of pairs) {
    const status = endOf(pair);
    if (status !== undefined) books[status] += 1;
    if (isLost(pair)) books.lost += 1;
    books.duplicates += duplicatesOf(pair).length;
    books.unexplainedDuplicates += unexplainedDuplicatesOf(pair, faults).length;
  }
  return books;
};

/** The terminal status; undefined for a delivery that has not finished. */
export const endOf = ({ record }: Pair): TerminalStatus | undefined =>
  record === undefined || isOpen(record) ? undefined : record.status;

export const isLost = (pair: Pair): boolean => {
  const status = endOf(pair);
  return status === undefined || (status === 'delivered' && !isSuccessHeard(pair));
};

/** Whether a recorded success lasted at least as long as the subscriber took for one of its 2xx responses. */
const isSuccessHeard = ({ record, replies }: Pair): boolean => {
  const results = [...(record?.attempts ?? []), ...(record?.lateResults ?? [])];
  const successes = results.filter(({ outcome }) => outcome === 'delivered');
  return replies.some(
    ({ status = 0, delayMs }) =>
      status >= 200 &&
      status < 300 &&
      successes.some(({ durationMs }) => durationMs + ROUNDING_MS >= delayMs),
  );
};

const sleep = (milliseconds: number): Promise<void> => pause(milliseconds);

/** Redrives all dead letters as an operator would. Returns how many there were. */
export const redriveAll = async (system: System, signal: AbortSignal): Promise<number> => {
  const { endpoints, sqs } = system;
  const urls = {
    ingress: endpoints.ingressQueueUrl,
    delivery: endpoints.deliveryQueueUrl,
    retry: endpoints.retryQueueUrl,
    operation: endpoints.operationQueueUrl,
  };
  const sources = [
    { queueUrl: endpoints.ingressDeadLetterUrl, read: readIngressDeadLetter },
    { queueUrl: endpoints.deliveryDeadLetterUrl, read: readDeliveryDeadLetter },
    { queueUrl: endpoints.operationDeadLetterUrl, read: readOperationDeadLetter },
  ];
  let redriven = 0;
  for (const { queueUrl, read } of sources) {
    if ((await messagesOn(system, queueUrl)) === 0) continue;
    const result = await processDeadLetters(
      { clock: { sleep }, deadLetters: sqsDeadLetterQueue({ sqs, queueUrl, sleep }) },
      {
        read,
        handle: sendBack(sqsWorkQueues({ sqs, sleep, random: Math.random }, urls)),
        startedAt: Date.now(),
        signal,
        onProgress: () => undefined,
      },
    );
    redriven += result.handled;
  }
  return redriven;
};

/** An accepted message and a matching subscription: the delivery's record, and what the subscriber logged. */
export type Pair = { messageId: string; record: Delivery | undefined; replies: readonly Reply[] };

/** Rounding difference of two clocks, or of a timer and a clock, in milliseconds. */
const ROUNDING_MS = 2;

/** Requests without a recorded attempt. Each attempt is matched with the first request in its time span. */
const duplicatesOf = ({ record, replies }: Pick<Pair, 'record' | 'replies'>): readonly Reply[] => {
  const left = new Set(replies);
  for (const attempt of record?.attempts ?? []) {
    const [own] = [...left].filter(({ at }) => isDuring(attempt, at)).sort((one, other) => one.at - other.at);
    if (own !== undefined) left.delete(own);
  }
  return [...left];
};

/** Whether a request that arrived at this time can be the attempt's. */
export const isDuring = ({ startedAt, durationMs }: Attempt, at: number): boolean =>
  at >= startedAt - ROUNDING_MS && at <= startedAt + durationMs + ROUNDING_MS;

/** Duplicates whose sender was not killed before it could record them, and whose message had no failed call. */
export const unexplainedDuplicatesOf = (pair: Pair, faults: FaultLog): readonly Reply[] =>
  duplicatesOf(pair).filter(
    (reply) =>
      !isKilled(reply, faults) && !faults.hasFailedBetween(pair.messageId, reply.at, recordedBy(reply)),
  );

/** A function has five seconds to write the record (shared/domain/retry/attempt-duration.ts), and the SDK may repeat the last call. */
const RECORDING_MS = 8_000;

const recordedBy = ({ at, delayMs }: Reply): number => at + delayMs + RECORDING_MS;

/** The emulator stops all workers of a function soon after one of them crashed. */
const ENDED_WITHIN_MS = 3_000;

const isKilled = (reply: Reply, faults: FaultLog): boolean => {
  const { closedAt } = reply.connection;
  return (
    closedAt !== undefined &&
    closedAt <= recordedBy(reply) &&
    faults.wasKilledBetween(closedAt - ENDED_WITHIN_MS, closedAt + ROUNDING_MS)
  );
};
