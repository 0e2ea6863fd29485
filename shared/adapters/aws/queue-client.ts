import type {
  BatchResultErrorEntry,
  GetQueueAttributesCommandInput,
  MessageAttributeValue,
  SendMessageBatchCommandInput,
  SendMessageCommandInput,
} from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { absent } from './answer.ts';
import { jsonService } from './service.ts';
import type { ServiceOptions } from './service-options.ts';

/** What our functions ask of SQS, by the words of its API reference. The SDK's own `SQS` can stand for it. */
export type QueueClient = {
  /** Answered only where SQS says under which id it has the message. */
  sendMessage: (input: SendMessageCommandInput) => Promise<{ MessageId?: string | undefined }>;
  sendMessageBatch: (input: SendMessageBatchCommandInput) => Promise<{
    Successful?: readonly { Id: string | undefined }[] | undefined;
    Failed?: readonly BatchResultErrorEntry[] | undefined;
  }>;
  getQueueAttributes: (
    input: GetQueueAttributesCommandInput,
  ) => Promise<{ Attributes?: Readonly<Record<string, string>> | undefined }>;
};

const SQS = { id: 'sqs', target: 'AmazonSQS', version: '1.0' } as const;

const sentSchema = z.object({ MessageId: z.string() });

// What is null is as good as absent (AWS JSON 1.0 protocol, smithy.io). Messages of errors may quote what was sent.
const successfulEntry = z.object({ Id: z.string() });
const failedEntry = z.object({
  Id: z.string(),
  Code: absent(z.string()),
  SenderFault: absent(z.boolean()),
});
const batchSchema = z.object({
  Successful: absent(z.array(successfulEntry)),
  Failed: absent(
    z.array(
      failedEntry.transform(({ Id, Code, SenderFault }): BatchResultErrorEntry => ({
        Id,
        Code,
        SenderFault,
      })),
    ),
  ),
});
const attributesSchema = z.object({ Attributes: absent(z.record(z.string(), z.string())) });

export function sqsClient(options: ServiceOptions): QueueClient {
  const call = jsonService(SQS, options);
  return {
    sendMessage: async (input) => sentSchema.parse(await call('SendMessage', withTexts(input))),
    sendMessageBatch: async ({ QueueUrl, Entries = [] }) =>
      batchSchema.parse(await call('SendMessageBatch', { QueueUrl, Entries: Entries.map(withTexts) })),
    getQueueAttributes: async (input) => attributesSchema.parse(await call('GetQueueAttributes', input)),
  };
}

type Attributed = { MessageAttributes?: Record<string, MessageAttributeValue> | undefined };

function withTexts(sent: Attributed): object {
  return sent.MessageAttributes === undefined
    ? sent
    : {
        ...sent,
        MessageAttributes: Object.fromEntries(
          Object.entries(sent.MessageAttributes).map(([name, value]) => [name, withText(value)]),
        ),
      };
}

function withText({ BinaryValue, ...value }: MessageAttributeValue) {
  return BinaryValue === undefined ? value : { ...value, BinaryValue: base64(BinaryValue) };
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
