import type { Message } from '@aws-sdk/client-sqs';
import * as z from 'zod';
import type { DeadLetter, LetterAttribute } from '../domain/dead-letter.ts';

const attribute = z
  .object({
    DataType: z.string(),
    StringValue: z.string().optional(),
    BinaryValue: z.instanceof(Uint8Array).optional(),
  })
  .transform(({ DataType: type, StringValue, BinaryValue }): LetterAttribute =>
    BinaryValue === undefined ? { type, text: StringValue ?? '' } : { type, bytes: BinaryValue },
  );

const message = z.object({
  MessageId: z.string(),
  ReceiptHandle: z.string(),
  Body: z.string(),
  Attributes: z.object({ SentTimestamp: z.coerce.number(), MessageGroupId: z.string().optional() }),
  MessageAttributes: z.record(z.string(), attribute).default({}),
});

/** A dead letter as SQS hands it out, all of its attributes asked for. */
export const parseSqsLetter = (received: Message): DeadLetter => {
  const { MessageId, ReceiptHandle, Body, Attributes, MessageAttributes } = message.parse(received);
  return {
    id: MessageId,
    sentAt: Attributes.SentTimestamp,
    receipt: ReceiptHandle,
    body: Body,
    attributes: MessageAttributes,
    ...(Attributes.MessageGroupId === undefined ? {} : { group: Attributes.MessageGroupId }),
  };
};
