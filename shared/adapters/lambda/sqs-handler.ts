import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import type { LambdaJournal } from '../log/journal.ts';

/**
 * A Lambda handler for a queue: the records of a batch side by side, each acknowledged by itself. A record whose
 * function throws comes again after the visibility timeout; the fault is in the log with the record's id, and with the ids
 * of what it is about, as far as they can be read.
 */
export function sqsHandler(
  journal: Omit<LambdaJournal, 'auditLogger'>,
  handleRecord: (record: SQSRecord, context: Context) => Promise<void>,
  idsOf: (record: SQSRecord) => Record<string, string> = () => ({}),
) {
  const processor = new BatchProcessor(EventType.SQS);
  return async (event: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    const noted = async (record: SQSRecord): Promise<void> => {
      try {
        await handleRecord(record, context);
      } catch (error) {
        journal.fault(error, { ...idsOf(record), sqsMessageId: record.messageId });
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
