import type { SQS } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import { type InvocationContext, returnDelaySeconds, UnfinishedError } from '../../domain/receives.ts';
import type { WorkQueueName } from '../../domain/vocabulary.ts';
import type { LambdaJournal } from '../log/journal.ts';

/** How the records of a function's queues are handled, in Lambda or in a worker. */
export type RecordHandling = {
  handleRecord: (record: SQSRecord, context: InvocationContext) => Promise<void>;
  /** Makes a record that failed with this error visible again before its visibility timeout ends. */
  returnSooner: (record: SQSRecord, error: unknown) => Promise<void>;
  /** Ids for the log, as far as the record can be read. */
  idsOf?: (record: SQSRecord) => Record<string, string>;
};

/**
 * Handles a record. A failed one returns after a short delay, and the fault is logged with its ids.
 * @throws the record's fault, so that the caller does not acknowledge it
 */
export function reportingFailures(
  journal: Pick<LambdaJournal, 'fault'>,
  { handleRecord, returnSooner, idsOf = () => ({}) }: RecordHandling,
): RecordHandling['handleRecord'] {
  const noteFault = (error: unknown, record: SQSRecord): void => {
    journal.fault(error, { ...idsOf(record), sqsMessageId: record.messageId });
  };
  return async (record, context) => {
    try {
      await handleRecord(record, context);
    } catch (error) {
      if (!(error instanceof UnfinishedError)) noteFault(error, record);
      // At once rather than at the end of a batch, which may include a slow attempt.
      await returnSooner(record, error).catch((cause: unknown) => {
        noteFault(cause, record);
      });
      throw error;
    }
  };
}

/** A queue that a function or a worker consumes. */
export type ConsumedQueue = { name: WorkQueueName; url: string };

/** `random` is uniform in [0, 1). */
type EarlyReturnOptions = { sqs: SQS; queues: readonly Pick<ConsumedQueue, 'url'>[]; random: () => number };

/**
 * Makes a failed message visible again after a delay that grows with its receives, and an unfinished one at once.
 * Lambda does not change the visibility of messages in `batchItemFailures`, so they would return only after the
 * visibility timeout (Lambda developer guide, "Handling errors for an SQS event source in Lambda").
 */
export function earlyReturn({ sqs, queues, random }: EarlyReturnOptions): RecordHandling['returnSooner'] {
  return async ({ eventSourceARN, receiptHandle, attributes }, error) => {
    const name = eventSourceARN.slice(eventSourceARN.lastIndexOf(':') + 1);
    const receiveCount = Number(attributes.ApproximateReceiveCount);
    await sqs.changeMessageVisibility({
      QueueUrl: queues.find(({ url }) => url.endsWith(`/${name}`))?.url,
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: error instanceof UnfinishedError ? 0 : returnDelaySeconds(receiveCount, random),
    });
  };
}
