import { isQueueName, QUEUE_NAME_RULE } from '../../shared/domain/message.ts';
import { invalidFields } from './error-answers.ts';

export const QUEUES = '/v2/queues';

export const queuePath = (queue: string): string => `${QUEUES}/${queue}`;

/** @throws RefusedRequest `invalid_request` naming `queue`. */
export const queueName = (name: string): string => {
  if (!isQueueName(name)) throw invalidFields([{ field: 'queue', message: `must be ${QUEUE_NAME_RULE}` }]);
  return name;
};

/** No other text was ever given out as the id of a subscription; what it names is not there. */
export const isSubscriptionId = (id: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(id);
