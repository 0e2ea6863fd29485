import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import { MAX_DELAY_SECONDS } from '../../domain/delivery/wake-up-plan.ts';

/** A message to be sent to an SQS queue. The body is JSON. */
export type OutgoingMessage = {
  body: string;
  /** Plain strings become attributes of type `String`. */
  attributes?: Record<string, string | MessageAttributeValue>;
  delaySeconds?: number;
  /** Message group for fair queues ("Amazon SQS fair queues", SQS developer guide). */
  group?: string;
};

/** The SQS request fields of a message, the same for SendMessage and for a batch entry. */
export function sqsMessage({ body, attributes, delaySeconds, group }: OutgoingMessage) {
  return {
    MessageBody: sqsText(body),
    ...(attributes === undefined ? {} : { MessageAttributes: attributeValues(attributes) }),
    ...(delaySeconds === undefined ? {} : { DelaySeconds: wholeDelay(delaySeconds) }),
    ...(group === undefined ? {} : { MessageGroupId: group }),
  };
}

/** Rounded up, so that a message is never early, and limited to what SQS takes: 0 to 900 s. */
function wholeDelay(seconds: number): number {
  return Math.min(MAX_DELAY_SECONDS, Math.max(0, Math.ceil(seconds)));
}

function attributeValues(
  attributes: Record<string, string | MessageAttributeValue>,
): Record<string, MessageAttributeValue> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'string' ? { DataType: 'String', StringValue: value } : value,
    ]),
  );
}

/**
 * SQS rejects U+FFFE and U+FFFF (SendMessageBatch, SQS API reference). In a JSON string their escapes mean the
 * same.
 */
function sqsText(json: string): string {
  return json.replaceAll('\ufffe', '\\ufffe').replaceAll('\uffff', '\\uffff');
}
