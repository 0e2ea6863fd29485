import type { SQS } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import {
  type InvocationContext,
  isPoison,
  returnDelaySeconds,
  SUSPECT_RECEIVES,
  UnfinishedError,
} from '../../domain/receives.ts';
import type { WorkQueueName } from '../../domain/work-queues.ts';
import type { DeadLetters } from '../../ports/queues.ts';
import { stringAttributes } from '../../wire/jobs/dead-letter.ts';
import type { LambdaJournal } from '../log/journal.ts';

/** How the records of a function's queues are handled, in Lambda or in a worker. */
export type RecordHandling = {
  handleRecord: (record: SQSRecord, context: InvocationContext) => Promise<void>;
  /** Makes a record that failed with this error visible again before its visibility timeout ends. */
  returnSooner: (record: SQSRecord, error: unknown) => Promise<void>;
  /** Deletes a handled record's message before its invocation ends. Without it, Lambda or the worker does. */
  acknowledge?: (record: SQSRecord) => Promise<void>;
  /** Where poison goes. Without it, SQS dead-letters it after the most receives. */
  deadLetters?: DeadLetters;
  /** Ids for the log, as far as the record can be read. */
  idsOf?: (record: SQSRecord) => Record<string, string>;
};

/**
 * Handles a record. A failed one returns after a short delay, and the fault is logged with its ids. Poison becomes a dead
 * letter, and counts as handled.
 * @throws the record's fault, so that the caller does not acknowledge it
 */
export function reportingFailures(
  journal: Pick<LambdaJournal, 'fault' | 'note'>,
  { handleRecord, returnSooner, deadLetters, idsOf = () => ({}) }: RecordHandling,
): RecordHandling['handleRecord'] {
  const successes = new Map<string, number>();
  const noteFault = (error: unknown, record: SQSRecord): void => {
    journal.fault(error, { ...idsOf(record), sqsMessageId: record.messageId });
  };
  const isRemoved = async (error: unknown, record: SQSRecord): Promise<boolean> => {
    const { messageId: id, body, messageAttributes, attributes, eventSourceARN } = record;
    const receiveCount = Number(attributes.ApproximateReceiveCount);
    const isDue = isPoison(receiveCount, successes.get(eventSourceARN), Date.now());
    if (deadLetters === undefined || !isDue || !isOwnFault(error)) return false;
    const reason = 'failed_repeatedly';
    try {
      await deadLetters.send({ id, body, attributes: stringAttributes(messageAttributes) }, reason);
    } catch (cause) {
      noteFault(cause, record);
      return false;
    }
    journal.note({ fact: 'dead_lettered', id, reason });
    return true;
  };
  return async (record, context) => {
    try {
      await handleRecord(record, context);
      successes.set(record.eventSourceARN, Date.now());
    } catch (error) {
      if (!(error instanceof UnfinishedError)) noteFault(error, record);
      if (await isRemoved(error, record)) return;
      // At once rather than at the end of a batch, which may include a slow attempt.
      await returnSooner(record, error).catch((cause: unknown) => {
        noteFault(cause, record);
      });
      throw error;
    }
  };
}

/**
 * Whether a fault is the message's own. A call to AWS that failed is not, unless AWS refuses what the message contains:
 * it can succeed later, even if calls for other messages succeed now.
 */
function isOwnFault(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isOwnFault);
  if (!(error instanceof Error)) return error === undefined;
  if (error instanceof UnfinishedError || 'isTransient' in error) return false;
  if ('$fault' in error || 'code' in error) return error.name === 'ValidationException';
  return !PASSING_FAULTS.includes(error.name) && isOwnFault(error.cause);
}

/** Errors of requests that were given up. */
const PASSING_FAULTS: readonly string[] = ['AbortError', 'TimeoutError'];

/**
 * Handles a batch in which a record may crash the invocation, by its memory or time: one after the other, after all others
 * are handled and deleted, so that a crash takes none of them along. Other batches are handled as they are.
 */
export function suspectsLast(
  records: readonly SQSRecord[],
  handle: (record: SQSRecord) => Promise<void>,
  acknowledge: NonNullable<RecordHandling['acknowledge']>,
): (record: SQSRecord) => Promise<void> {
  const [suspects, others] = [records.filter(isSuspect), records.filter((record) => !isSuspect(record))];
  if (suspects.length === 0 || records.length === 1) return handle;
  const handled = new Map<SQSRecord, Promise<void>>();
  const start = async (record: SQSRecord, turn?: Promise<unknown>): Promise<void> => {
    await turn;
    await handle(record);
    await acknowledge(record);
  };
  for (const record of others) handled.set(record, start(record));
  let turn: Promise<unknown> = Promise.allSettled(handled.values());
  for (const record of suspects) {
    const ending = start(record, turn);
    handled.set(record, ending);
    turn = Promise.allSettled([ending]);
  }
  return (record) => handled.get(record) ?? handle(record);
}

/** Crashes and faults are received alike. After an outage, too, suspects are handled one by one. */
function isSuspect({ attributes }: SQSRecord): boolean {
  return Number(attributes.ApproximateReceiveCount) >= SUSPECT_RECEIVES;
}

/** A queue that a function or a worker consumes. */
export type ConsumedQueue = { name: WorkQueueName; url: string };

/** `random` is uniform in [0, 1). */
type QueueAccess = { sqs: SQS; queues: readonly Pick<ConsumedQueue, 'url'>[]; random: () => number };

/**
 * Deletes a handled message, or makes a failed one visible again after a delay that grows with its receives, and an unfinished one at once.
 * Lambda does not change the visibility of messages in `batchItemFailures`, so they would return only after the
 * visibility timeout (Lambda developer guide, "Handling errors for an SQS event source in Lambda").
 */
export function receivedRecords({
  sqs,
  queues,
  random,
}: QueueAccess): Required<Pick<RecordHandling, 'returnSooner' | 'acknowledge'>> {
  const toReceipt = ({ eventSourceARN, receiptHandle }: SQSRecord) => {
    const name = eventSourceARN.slice(eventSourceARN.lastIndexOf(':') + 1);
    return {
      QueueUrl: queues.find(({ url }) => url.endsWith(`/${name}`))?.url,
      ReceiptHandle: receiptHandle,
    };
  };
  return {
    returnSooner: async (record, error) => {
      const receiveCount = Number(record.attributes.ApproximateReceiveCount);
      await sqs.changeMessageVisibility({
        ...toReceipt(record),
        VisibilityTimeout: error instanceof UnfinishedError ? 0 : returnDelaySeconds(receiveCount, random),
      });
    },
    acknowledge: async (record) => {
      await sqs.deleteMessage(toReceipt(record));
    },
  };
}
