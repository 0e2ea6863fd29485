import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { encodeWakeUp } from '../messages/delivery-job.ts';
import type { WakeUps } from '../ports/wake-ups.ts';
import { sqsMessage } from './sqs-message.ts';

/** Wake-ups by DelaySeconds on the retry queue. Errors of the SDK pass through: the wake-up may not have been sent. */
export const sqsWakeUps = (sqs: SQSClient, retryQueueUrl: string): Pick<WakeUps, 'sendDelayed'> => ({
  sendDelayed: async (wakeUp, delaySeconds) => {
    const message = { body: encodeWakeUp(wakeUp), delaySeconds, group: wakeUp.key.subscriptionId };
    await sqs.send(new SendMessageCommand({ QueueUrl: retryQueueUrl, ...sqsMessage(message) }));
  },
});
