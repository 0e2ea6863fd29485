import type { MessageAttributeValue } from '@aws-sdk/client-sqs';

/** A message to be sent to an SQS queue. The body is JSON. */
export type OutgoingMessage = {
  body: string;
  /** Plain strings become attributes of type `String`. */
  attributes?: Record<string, string | MessageAttributeValue>;
  /** A whole number from 0 to 900. */
  delaySeconds?: number;
  /** Message group for fair queues ("Amazon SQS fair queues", SQS developer guide). */
  group?: string;
};

/** The SQS request fields of a message, the same for SendMessage and for a batch entry. */
export function sqsMessage({ body, attributes, delaySeconds, group }: OutgoingMessage) {
  return {
    MessageBody: sqsText(body),
    ...(attributes === undefined ? {} : { MessageAttributes: attributeValues(attributes) }),
    ...(delaySeconds === undefined ? {} : { DelaySeconds: delaySeconds }),
    ...(group === undefined ? {} : { MessageGroupId: group }),
  };
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
