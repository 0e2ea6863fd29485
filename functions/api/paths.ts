import * as z from 'zod';
import {
  EVENT_TYPE_NAME,
  EVENT_TYPE_NAME_RULE,
  MAX_EVENT_TYPE_NAME,
} from '../../shared/domain/event-type/event-type.ts';
import {
  type MessageKey,
  QUEUE_NAME,
  QUEUE_NAME_RULE,
  toMessageId,
} from '../../shared/domain/message/message.ts';
import type { SubscriptionKey } from '../../shared/domain/subscription/subscription.ts';
import { notFound } from './errors.ts';

export const QUEUES = '/v2/queues';
export const EVENT_TYPES = '/v2/event-types';

export function queuePath(queue: string): string {
  return `${QUEUES}/${queue}`;
}

/** The message of a path, which contains the producer's id or the id derived from it. */
export function messageKey({ queue, message }: { queue: string; message: string }): MessageKey {
  return { queue, messageId: toMessageId({ id: message }).id };
}

/** The subscription of a path. @throws RefusedRequest `not_found` where the text cannot be a subscription's id */
export function subscriptionKey({
  queue,
  subscription: subscriptionId,
}: {
  queue: string;
  subscription: string;
}): SubscriptionKey {
  if (!isSubscriptionId(subscriptionId)) throw notFound('such subscription');
  return { queue, subscriptionId };
}

/** Whether this text has the form of a subscription's id. */
export function isSubscriptionId(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,64}$/.test(id);
}

/** A subscription's id in a query. */
export const subscriptionIdField = z.string().refine(isSubscriptionId, 'must be the id of a subscription');

/** A segment of a path is never empty. */
const segment = z.string().min(1);

const PARAMETERS: Readonly<Record<string, z.ZodType>> = {
  queue: segment.meta({ description: QUEUE_NAME_RULE, pattern: QUEUE_NAME.source }),
  message: segment.meta({
    description: "The id that the response to the post contained, or the producer's id of the message.",
  }),
  subscription: segment.meta({ description: 'The id of the subscription.' }),
  type: segment.meta({
    description: `The name of the event type: ${EVENT_TYPE_NAME_RULE}.`,
    pattern: EVENT_TYPE_NAME.source,
    maxLength: MAX_EVENT_TYPE_NAME,
  }),
  recovery: segment.meta({ description: 'The id of the recovery.' }),
  session: segment.meta({ description: 'The session id of the link.' }),
};

/** The schema of a path's parameters; undefined if it has none. */
export function pathParameters(path: string): z.ZodObject | undefined {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.length === 0) return undefined;
  return z.object(
    Object.fromEntries(
      names.map((name) => {
        const schema = PARAMETERS[name];
        if (schema === undefined) throw new Error(`Path parameter ${name} has no schema in PARAMETERS`);
        return [name, schema];
      }),
    ),
  );
}
