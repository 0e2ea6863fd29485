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

/** Sends a body as it is, as any producer would. */
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

/** Publishes in the ingress's own form. */
export const publish = (message: {
  queue: string;
  id?: string;
  type?: string;
  data: unknown;
  /** Seconds. */
  delay?: number;
}): Promise<string> => send(deployment.endpoints.ingressQueueUrl, JSON.stringify(message));

/** Up to ten bodies in one batch, so that one invocation gets them together. */
export const sendTogether = async (queueUrl: string, bodies: readonly string[]): Promise<void> => {
  const { Failed = [] } = await deployment.sqs.send(
    new SendMessageBatchCommand({
      QueueUrl: queueUrl,
      Entries: bodies.map((body, index) => ({ Id: String(index), MessageBody: body })),
    }),
  );
  if (Failed.length > 0) throw new Error(`SQS refused ${Failed.length} of the batch`);
};

/** Seconds for which what is not looked for stays hidden, so that one sees what is behind it. */
const HIDDEN_SECONDS = 2;

/** The first message of a queue that is the one looked for, taken off it. Others are left for whoever waits for them. */
export const taken = (
  queueUrl: string,
  isWanted: (message: Message) => boolean,
  withinMs = 30_000,
): Promise<Message> =>
  eventually(
    `a message on ${queueUrl.split('/').at(-1) ?? queueUrl}`,
    async () => {
      for (
        let messages = await received(queueUrl);
        messages.length > 0;
        messages = await received(queueUrl)
      ) {
        const wanted = messages.find(isWanted);
        if (wanted === undefined) continue;
        const { ReceiptHandle } = wanted;
        await deployment.sqs.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
        return wanted;
      }
      return undefined;
    },
    withinMs,
  );

const received = async (queueUrl: string): Promise<readonly Message[]> => {
  const { Messages = [] } = await deployment.sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: 10,
      VisibilityTimeout: HIDDEN_SECONDS,
      MessageAttributeNames: ['All'],
    }),
  );
  return Messages;
};
