import type { QueueClient } from './aws/queue-client.ts';
import { withOurs } from '../messages/attribute-room.ts';
import { REASON_ATTRIBUTE } from '../messages/dead-letter-reading.ts';
import { ID_ATTRIBUTE } from '../messages/ingress-message.ts';
import type { DeadLetters } from '../ports/dead-letters.ts';
import { sqsMessage } from './sqs-message.ts';

/**
 * A dead-letter queue that we send to ourselves. The body goes as it came; `reason` says why, and the id that a redrive
 * has to send along is that of the first life, which one already redriven carries itself.
 */
export const sqsDeadLetters = (sqs: QueueClient, queueUrl: string): DeadLetters => ({
  bury: async ({ body, id, attributes = {} }, reason) => {
    const ours = { [REASON_ATTRIBUTE]: reason, [ID_ATTRIBUTE]: attributes[ID_ATTRIBUTE] ?? id };
    const message = sqsMessage({ body, attributes: withOurs(attributes, ours) });
    await sqs.sendMessage({ QueueUrl: queueUrl, ...message });
  },
});
