import * as z from 'zod';
import { readWith, type Reading } from '../fields.ts';
import { eventTime, isObject, text, typeText, type IngressContent } from './fields.ts';
import { parseJson, type Json } from '../json-slice.ts';

/** Content of an SNS notification; values of the message inside take precedence. */
export type NotificationContent = Pick<IngressContent, 'identity' | 'type' | 'timestamp' | 'routedBy'> & {
  /** The published text, as parsed JSON or else as a JSON string. */
  inner: Json;
  /** SNS message attributes; treated like SQS attributes, as with raw message delivery. */
  attributes: Record<string, string>;
};

const notification = z.object({
  MessageId: text,
  TopicArn: text,
  Message: z.string(),
  Subject: typeText.nullish(),
  Timestamp: eventTime,
  MessageAttributes: z.record(z.string(), z.object({ Value: z.string() })).nullish(),
});

function isNotification(value: unknown): boolean {
  return isObject(value) && value['Type'] === 'Notification' && Object.hasOwn(value, 'TopicArn');
}

/**
 * Unwraps an SNS notification ("Amazon SNS message and JSON formats", SNS developer guide). Only the outermost one:
 * a nested notification is data. Undefined for anything else.
 */
export function unwrapNotification(json: Json): Reading<NotificationContent | undefined> {
  if (!isNotification(json.value)) return { ok: true, value: undefined };
  const parsed = readWith(notification, json.value);
  if (!parsed.ok) return parsed;
  const { MessageId, TopicArn, Message, Subject, Timestamp, MessageAttributes } = parsed.value;
  const content: NotificationContent = {
    inner: parseJson(Message) ?? { source: JSON.stringify(Message), value: Message },
    attributes: Object.fromEntries(
      Object.entries(MessageAttributes ?? {}).map(([name, { Value }]) => [name, Value]),
    ),
    identity: { id: MessageId },
    ...(typeof Subject === 'string' ? { type: Subject } : {}),
    timestamp: Timestamp,
    routedBy: [TopicArn, TopicArn.slice(TopicArn.lastIndexOf(':') + 1)],
  };
  return { ok: true, value: content };
}
