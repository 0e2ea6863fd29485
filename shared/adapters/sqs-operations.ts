import type { QueueClient } from './aws/queue-client.ts';
import { encodeOperation } from '../messages/operation.ts';
import type { Operations } from '../ports/operations.ts';
import { sqsMessage } from './sqs-message.ts';

/** The operation queue. Errors of AWS pass through: the order may not have been sent. Grouped, so that one queue's orders do not hold up the others'. */
export const sqsOperations = (sqs: QueueClient, queueUrl: string): Operations => ({
  send: async (operation, delaySeconds = 0) => {
    const message = { body: encodeOperation(operation), delaySeconds, group: operation.queue };
    await sqs.sendMessage({ QueueUrl: queueUrl, ...sqsMessage(message) });
  },
});
