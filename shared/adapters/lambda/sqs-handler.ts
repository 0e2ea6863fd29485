import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { UnfinishedError } from '../../domain/receives.ts';
import type { LambdaJournal } from '../log/journal.ts';

export type RecordHandling = {
  handleRecord: (record: SQSRecord, context: Context) => Promise<void>;
  /** Has SQS bring a record back, which failed with this error, sooner than after the visibility timeout. */
  returnSooner: (record: SQSRecord, error: unknown) => Promise<void>;
  /** Ids for the log of what a record is about, as far as it can be read. */
  idsOf?: (record: SQSRecord) => Record<string, string>;
};

/**
 * A Lambda handler for a queue: the records of a batch side by side, each acknowledged by itself. A record whose
 * function throws comes again after a short delay; the fault is in the log with the record's id, and with the ids
 * of what it is about.
 */
export function sqsHandler(
  journal: Omit<LambdaJournal, 'auditLogger'>,
  { handleRecord, returnSooner, idsOf = () => ({}) }: RecordHandling,
) {
  const processor = new BatchProcessor(EventType.SQS);
  const noteFault = (error: unknown, record: SQSRecord): void => {
    journal.fault(error, { ...idsOf(record), sqsMessageId: record.messageId });
  };
  return async (event: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    const noted = async (record: SQSRecord): Promise<void> => {
      try {
        await handleRecord(record, context);
      } catch (error) {
        if (!(error instanceof UnfinishedError)) noteFault(error, record);
        // At once, not at the end of the batch, which may have an attempt that takes long.
        await returnSooner(record, error).catch((cause: unknown) => {
          noteFault(cause, record);
        });
        throw error;
      }
    };
    try {
      // A batch that fails whole is reported like any other: an error of the function would pause the mapping.
      return await processPartialResponse(event, noted, processor, {
        context,
        throwOnFullBatchFailure: false,
      });
    } finally {
      journal.flush();
    }
  };
}
