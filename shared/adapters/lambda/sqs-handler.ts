import { BatchProcessor, EventType, processPartialResponse } from '@aws-lambda-powertools/batch';
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import type { LambdaJournal } from '../log/journal.ts';
import { type RecordHandling, reportingFailures, suspectsLast } from '../sqs/failed-records.ts';

/**
 * A Lambda handler for a queue: handles the records of a batch concurrently and acknowledges each separately. A
 * failed record returns after a short delay; the fault is logged with the ids of the record.
 */
export function sqsHandler(
  journal: Pick<LambdaJournal, 'fault' | 'note'> & { flush: () => void | Promise<void> },
  handling: RecordHandling,
) {
  const processor = new BatchProcessor(EventType.SQS);
  const handle = reportingFailures(journal, handling);
  // Without it, Lambda alone deletes what is handled.
  const { acknowledge = () => Promise.resolve() } = handling;
  return async (event: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    try {
      // A batch that fails as a whole is reported like any other: for an error of the function Lambda would reduce
      // its polling of the queue.
      const each = suspectsLast(
        event.Records,
        (record) => handle(record, context),
        (record) =>
          acknowledge(record).catch((cause: unknown) => {
            journal.fault(cause, { sqsMessageId: record.messageId });
          }),
      );
      return await processPartialResponse(event, each, processor, {
        context,
        throwOnFullBatchFailure: false,
      });
    } finally {
      await journal.flush();
    }
  };
}
