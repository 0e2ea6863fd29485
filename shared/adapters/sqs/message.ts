import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import { MAX_DELAY_SECONDS } from '../../domain/retry/wake-up-plan.ts';

/** A message on its way to an SQS queue. The body is JSON. */
export type OutgoingMessage = {
  body: string;
  /** Text becomes a `String`. */
  attributes?: Record<string, string | MessageAttributeValue>;
  delaySeconds?: number;
  /** Fair queues: whose share of the queue this message counts to ("Amazon SQS fair queues", SQS developer guide). */
  group?: string;
};

/** The parts of an SQS request that make a message, the same for one and for an entry of a batch. */
export function sqsMessage({ body, attributes, delaySeconds, group }: OutgoingMessage) {
  return {
    MessageBody: sqsText(body),
    ...(attributes === undefined ? {} : { MessageAttributes: attributeValues(attributes) }),
    ...(delaySeconds === undefined ? {} : { DelaySeconds: wholeDelay(delaySeconds) }),
    ...(group === undefined ? {} : { MessageGroupId: group }),
  };
}

/** Rounded up, because a message is never early, to what SQS takes: 0 to 900 s. */
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
 * SQS takes neither U+FFFE nor U+FFFF (SendMessageBatch, SQS API reference). JSON allows them inside strings, where the
 * escape means the same.
 */
function sqsText(json: string): string {
  return json.replaceAll('\ufffe', '\\ufffe').replaceAll('\uffff', '\\uffff');
}
