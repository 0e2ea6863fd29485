import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { type InvocationContext, UnfinishedError } from '../../domain/receives.ts';
import type { LambdaJournal } from '../log/journal.ts';

export type RecordHandling = {
  handleRecord: (record: SQSRecord, context: InvocationContext) => Promise<void>;
  /** Makes a record that failed with this error visible again before its visibility timeout ends. */
  returnSooner: (record: SQSRecord, error: unknown) => Promise<void>;
  /** Ids for the log, as far as the record can be read. */
  idsOf?: (record: SQSRecord) => Record<string, string>;
};

/**
 * A Lambda handler for a queue: handles the records of a batch concurrently and acknowledges each separately. A
 * failed record returns after a short delay; the fault is logged with the ids of the record.
 */
export function sqsHandler(
  journal: Pick<LambdaJournal, 'fault'> & { flush: () => void | Promise<void> },
  { handleRecord, returnSooner, idsOf = () => ({}) }: RecordHandling,
) {
  const processor = new BatchProcessor(EventType.SQS);
  const noteFault = (error: unknown, record: SQSRecord): void => {
    journal.fault(error, { ...idsOf(record), sqsMessageId: record.messageId });
  };
  return async (event: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    const handleAndReport = async (record: SQSRecord): Promise<void> => {
      try {
        await handleRecord(record, context);
      } catch (error) {
        if (!(error instanceof UnfinishedError)) noteFault(error, record);
        // At once rather than at the end of the batch, which may include a slow attempt.
        await returnSooner(record, error).catch((cause: unknown) => {
          noteFault(cause, record);
        });
        throw error;
      }
    };
    try {
      // A batch that fails as a whole is reported like any other: for an error of the function Lambda would reduce
      // its polling of the queue.
      return await processPartialResponse(event, handleAndReport, processor, {
        context,
        throwOnFullBatchFailure: false,
      });
    } finally {
      await journal.flush();
    }
  };
}
