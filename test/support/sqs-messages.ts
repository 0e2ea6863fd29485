import { randomInt } from 'node:crypto';
import {
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  type Message,
} from '@aws-sdk/client-sqs';
import { deployment } from './deployment.ts';
import { eventually } from './eventually.ts';

type Attributes = Record<string, string>;

const attributesOf = (attributes: Attributes) =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, { DataType: 'String', StringValue: value }]),
  );

/** Sends a body unchanged, as any producer could. */
export const send = async (queueUrl: string, body: string, attributes: Attributes = {}): Promise<string> => {
  const { MessageId } = await deployment.sqs.send(
    new SendMessageCommand({
      QueueUrl: queueUrl,
      MessageBody: body,
      MessageAttributes: attributesOf(attributes),
    }),
  );
  if (MessageId === undefined) throw new Error('SQS gave no message id');
  return MessageId;
};

/** Publishes in the native ingress format. */
export const publish = (message: {
  queue: string;
  id?: string;
  type?: string;
  data: unknown;
  /** Seconds. */
  delay?: number;
}): Promise<string> => send(deployment.endpoints.ingressQueueUrl, JSON.stringify(message));

/** Sends up to ten bodies in one batch, so that one invocation receives them together. */
export const sendTogether = async (queueUrl: string, bodies: readonly string[]): Promise<void> => {
  const { Failed = [] } = await deployment.sqs.send(
    new SendMessageBatchCommand({
      QueueUrl: queueUrl,
      Entries: bodies.map((body, index) => ({ Id: String(index), MessageBody: body })),
    }),
  );
  if (Failed.length > 0) throw new Error(`SQS refused ${Failed.length} of the batch`);
};

/** Sends any number of bodies, ten at a time. */
export const sendAll = async (queueUrl: string, bodies: readonly string[]): Promise<void> => {
  for (let from = 0; from < bodies.length; from += 10)
    await sendTogether(queueUrl, bodies.slice(from, from + 10));
};

/** Publishes messages with the ids `m-0`, `m-1`, …, whose data is their number. */
export const publishMany = (
  queue: string,
  count: number,
  { prefix = 'm', queueUrl = deployment.endpoints.ingressQueueUrl } = {},
): Promise<void> =>
  sendAll(
    queueUrl,
    Array.from({ length: count }, (_, data) => JSON.stringify({ queue, id: `${prefix}-${data}`, data })),
  );

/**
 * Seconds for which other messages stay hidden, so that the ones behind them are received. Random, so that two tests do not
 * hide a message from each other again and again in the same rhythm.
 */
const hiddenSeconds = (): number => randomInt(1, 4);

/** Takes the first matching message off a queue. Other messages stay for other tests. */
export const taken = (queueUrl: string, isWanted: (message: Message) => boolean): Promise<Message> =>
  eventually(`a message on ${queueUrl.split('/').at(-1) ?? queueUrl}`, async () => {
    for (let messages = await received(queueUrl); messages.length > 0; messages = await received(queueUrl)) {
      const wanted = messages.find(isWanted);
      if (wanted === undefined) continue;
      const { ReceiptHandle } = wanted;
      await deployment.sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
      return wanted;
    }
    return undefined;
  });

const received = async (queueUrl: string): Promise<readonly Message[]> => {
  const { Messages = [] } = await deployment.sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: 10,
      VisibilityTimeout: hiddenSeconds(),
      MessageAttributeNames: ['All'],
    }),
  );
  return Messages;
};
