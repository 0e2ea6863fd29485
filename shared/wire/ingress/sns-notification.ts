import * as z from 'zod';
import type { UnreadableReason } from '../../domain/vocabulary.ts';
import { firstField } from '../fields.ts';
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
 * a nested notification is data. `content` is undefined for anything else.
 */
export function unwrapNotification(
  json: Json,
): { ok: true; content: NotificationContent | undefined } | { ok: false; reason: UnreadableReason } {
  if (!isNotification(json.value)) return { ok: true, content: undefined };
  const parsed = notification.safeParse(json.value);
  if (!parsed.success) return { ok: false, reason: `invalid_field:${firstField(parsed.error)}` };
  const { MessageId, TopicArn, Message, Subject, Timestamp, MessageAttributes } = parsed.data;
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
  return { ok: true, content };
}
