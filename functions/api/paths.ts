import {
  isQueueName,
  messageIdOf,
  type MessageKey,
  QUEUE_NAME_RULE,
} from '../../shared/domain/message/message.ts';
import { invalidFields, notFound } from './errors.ts';

export const QUEUES = '/v2/queues';

export function queuePath(queue: string): string {
  return `${QUEUES}/${queue}`;
}

/** @throws RefusedRequest `invalid_request` naming `queue`. */
export function queueName(name: string): string {
  if (!isQueueName(name)) throw invalidFields([{ field: 'queue', message: `must be ${QUEUE_NAME_RULE}` }]);
  return name;
}

/**
 * The message of a path. The producer's own id finds it as well as the one that we made of it.
 * @throws RefusedRequest `invalid_request` naming `queue`.
 */
export function messageKey({ queue, message }: { queue: string; message: string }): MessageKey {
  return {
    queue: queueName(queue),
    messageId: messageIdOf({ id: message }).id,
  };
}

/**
 * The subscription of a path.
 * @throws RefusedRequest `invalid_request` naming `queue`, `not_found` for what was never given out as an id
 */
export function subscriptionName({ queue, subscription }: { queue: string; subscription: string }): {
  queue: string;
  subscriptionId: string;
} {
  const name = { queue: queueName(queue), subscriptionId: subscription };
  if (!isSubscriptionId(subscription)) throw notFound('such subscription');
  return name;
}

/** No other text was ever given out as the id of a subscription; what it names is not there. */
export function isSubscriptionId(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id);
}
