import { randomUUID } from 'node:crypto';
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  type Message,
  type SQSClient,
} from '@aws-sdk/client-sqs';

/** A received message, and its time of arrival in milliseconds since the epoch. */
export type Arrival = { body: string; attributes: Record<string, string>; group?: string; at: number };

/** Queues that no other test uses. */
export const privateQueues = (sqs: SQSClient) => {
  const made: string[] = [];
  return {
    create: async (): Promise<string> => {
      const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: `private-${randomUUID()}` }));
      if (QueueUrl === undefined) throw new Error('SQS gave no queue URL');
      made.push(QueueUrl);
      return QueueUrl;
    },
    arnOf: async (queueUrl: string): Promise<string> => {
      const { Attributes } = await sqs.send(
        new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['QueueArn'] }),
      );
      return String(Attributes?.QueueArn);
    },
    arrivals: (queueUrl: string, count: number) => arrivals(sqs, queueUrl, count),
    deleteAll: async (): Promise<void> => {
      for (const QueueUrl of made.splice(0)) await sqs.send(new DeleteQueueCommand({ QueueUrl }));
    },
  };
};

const PATIENCE_MS = 20_000;

/**
 * Waits for `count` messages, and returns them with any others that are then available.
 * @throws if they do not arrive
 */
const arrivals = async (sqs: SQSClient, queueUrl: string, count: number): Promise<Arrival[]> => {
  const arrived: Arrival[] = [];
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const messages = await received(sqs, queueUrl, arrived.length < count ? 1 : 0);
    arrived.push(...messages.map(arrivalOf));
    if (messages.length === 0 && arrived.length >= count) return arrived;
    if (Date.now() > deadline) throw new Error(`${arrived.length} of ${count} messages arrived`);
  }
};

const received = async (sqs: SQSClient, QueueUrl: string, WaitTimeSeconds: number): Promise<Message[]> => {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl,
      WaitTimeSeconds,
      MaxNumberOfMessages: 10,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['MessageGroupId'],
    }),
  );
  const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
  if (Entries.length > 0) await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
  return Messages;
};

const arrivalOf = ({ Body = '', MessageAttributes = {}, Attributes = {} }: Message): Arrival => ({
  body: Body,
  attributes: Object.fromEntries(
    Object.entries(MessageAttributes).map(([name, { StringValue = '' }]) => [name, StringValue]),
  ),
  ...(Attributes.MessageGroupId !== undefined && { group: Attributes.MessageGroupId }),
  at: Date.now(),
});
