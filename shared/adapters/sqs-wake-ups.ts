import { encodeWakeUp } from '../messages/delivery-job.ts';
import type { WakeUps } from '../ports/wake-ups.ts';
import type { BatchTarget } from './sqs-batches.ts';
import { joinedSends } from './sqs-joined-sends.ts';

/**
 * Wake-ups by DelaySeconds on the retry queue.
 * @throws MessagesNotSentError: the wake-up may not have been sent
 */
export const sqsWakeUps = (retryQueue: BatchTarget): Pick<WakeUps, 'sendDelayed'> => {
  const send = joinedSends(retryQueue);
  return {
    sendDelayed: (wakeUp, delaySeconds) =>
      send([{ body: encodeWakeUp(wakeUp), delaySeconds, group: wakeUp.key.subscriptionId }]),
  };
};
