import type { MessageAttributeValue } from '@aws-sdk/client-sqs';
import type {
  BatchResultErrorEntry,
  GetQueueAttributesCommandInput,
  SendMessageBatchCommandInput,
  SendMessageCommandInput,
} from '@aws-sdk/client-sqs';
import * as z from 'zod';
import { jsonService } from './service.ts';
import type { ServiceOptions } from './service-options.ts';

/** What our functions ask of SQS, by the words of its API reference. The SDK's own `SQS` can stand for it. */
export type QueueClient = {
  sendMessage: (input: SendMessageCommandInput) => Promise<unknown>;
  sendMessageBatch: (
    input: SendMessageBatchCommandInput,
  ) => Promise<{ Failed?: BatchResultErrorEntry[] | undefined }>;
  getQueueAttributes: (
    input: GetQueueAttributesCommandInput,
  ) => Promise<{ Attributes?: Readonly<Record<string, string>> | undefined }>;
};

const SQS = { id: 'sqs', target: 'AmazonSQS', version: '1.0' } as const;

const failedEntry = z.object({
  Id: z.string(),
  Code: z.string(),
  SenderFault: z.boolean(),
  Message: z.string().optional(),
});
const sentSchema = z.object({ Failed: z.array(failedEntry).optional() });
const attributesSchema = z.object({ Attributes: z.record(z.string(), z.string()).optional() });

export const sqsClient = (options: ServiceOptions): QueueClient => {
  const call = jsonService(SQS, options);
  return {
    sendMessage: (input) => call('SendMessage', withTexts(input)),
    sendMessageBatch: async ({ QueueUrl, Entries = [] }) =>
      sentSchema.parse(await call('SendMessageBatch', { QueueUrl, Entries: Entries.map(withTexts) })),
    getQueueAttributes: async (input) => attributesSchema.parse(await call('GetQueueAttributes', input)),
  };
};

type Attributed = { MessageAttributes?: Record<string, MessageAttributeValue> | undefined };

const withTexts = (sent: Attributed): object =>
  sent.MessageAttributes === undefined
    ? sent
    : {
        ...sent,
        MessageAttributes: Object.fromEntries(
          Object.entries(sent.MessageAttributes).map(([name, value]) => [name, withText(value)]),
        ),
      };

const withText = ({ BinaryValue, ...value }: MessageAttributeValue) =>
  BinaryValue === undefined ? value : { ...value, BinaryValue: base64(BinaryValue) };

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
