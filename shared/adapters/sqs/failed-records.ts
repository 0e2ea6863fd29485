import type { SQS } from '@aws-sdk/client-sqs';
import { returnDelaySeconds, UnfinishedError } from '../../domain/receives.ts';
import type { RecordHandling } from '../lambda/sqs-handler.ts';

/** `queueUrls`: the queues that the function consumes. `random` is uniform in [0, 1). */
type EarlyReturnOptions = { sqs: SQS; queueUrls: readonly string[]; random: () => number };

/**
 * Makes a failed message visible again after a delay that grows with its receives, and an unfinished one at once.
 * Lambda does not change the visibility of messages in `batchItemFailures`, so they would return only after the
 * visibility timeout (Lambda developer guide, "Handling errors for an SQS event source in Lambda").
 */
export function earlyReturn({ sqs, queueUrls, random }: EarlyReturnOptions): RecordHandling['returnSooner'] {
  return async ({ eventSourceARN, receiptHandle, attributes }, error) => {
    const name = eventSourceARN.slice(eventSourceARN.lastIndexOf(':') + 1);
    const receiveCount = Number(attributes.ApproximateReceiveCount);
    await sqs.changeMessageVisibility({
      QueueUrl: queueUrls.find((url) => url.endsWith(`/${name}`)),
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: error instanceof UnfinishedError ? 0 : returnDelaySeconds(receiveCount, random),
    });
  };
}
