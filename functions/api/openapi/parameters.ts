import * as z from 'zod';
import { QUEUE_NAME, QUEUE_NAME_RULE } from '../../../shared/domain/message/message.ts';

/** A segment of a path is never empty. */
const segment = z.string().min(1);

const queue = segment.meta({ description: QUEUE_NAME_RULE, pattern: QUEUE_NAME.source });
const subscription = segment.meta({ description: 'The id of the subscription.' });
const message = segment.meta({
  description: "The message's id, as it was answered to the post. The producer's own finds it as well.",
});
const recovery = segment.meta({ description: 'The id of the recovery.' });

export const ofQueue = z.object({ queue });
export const ofSubscription = z.object({ queue, subscription });
export const ofMessage = z.object({ queue, message });
export const ofDelivery = z.object({ queue, message, subscription });
export const ofRecovery = z.object({ queue, recovery });
