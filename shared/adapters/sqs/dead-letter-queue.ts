import * as z from 'zod';
import type {
  DeadLetter,
  DeadLetterAttribute,
  ReceivedDeadLetter,
} from '../../domain/delivery/dead-letter.ts';
import type { DeadLetterQueue } from '../../ports/queues.ts';
import { inParallel } from '../in-parallel.ts';
import type { BatchResultErrorEntry, Message } from '@aws-sdk/client-sqs';
import { deleteReceived, hideReceived, MAX_ENTRIES, type ReceivingQueue } from './receipts.ts';

/** Dead letters that could not be deleted from the dead-letter queue, though they are done with. */
class DeadLettersNotRemovedError extends Error {
  override readonly name = 'DeadLettersNotRemovedError';

  constructor(queueUrl: string, failed: readonly BatchResultErrorEntry[]) {
    const codes = [...new Set(failed.map(({ Code }) => Code ?? 'unknown'))].join(', ');
    const queue = queueUrl.slice(queueUrl.lastIndexOf('/') + 1);
    super(`${failed.length} messages could not be removed from ${queue}: ${codes}`);
  }
}

/** Seconds. Long polling asks all SQS servers, short polling only a sample of them. */
const LONG_POLL_SECONDS = 1;

/**
 * Seconds. Longer than a receive and the request that hides its messages for the time that the caller wants. If the
 * answer is lost or late, the caller holds none of its messages and cannot release them: they are hidden only for this.
 */
const HIDDEN_UNTIL_ANSWERED_SECONDS = 20;

const CONCURRENT_REQUESTS = 5;

export function sqsDeadLetterQueue(source: ReceivingQueue): DeadLetterQueue {
  return {
    receive: async (most, hiddenSeconds) => {
      const ask = (share: number) => receive(source, share);
      const received = (await inParallel(splitIntoShares(most), CONCURRENT_REQUESTS, ask)).flat();
      // Entries that still fail become visible again soon, and are received once more.
      await hideReceived(source, listReceipts(received), hiddenSeconds);
      return received;
    },
    remove: async (deadLetters) => {
      const failed = await deleteReceived(source, listReceipts(deadLetters));
      if (failed.length > 0) throw new DeadLettersNotRemovedError(source.queueUrl, failed);
    },
    release: async (deadLetters) => {
      // Entries that still fail become visible again when their visibility timeout ends.
      await hideReceived(source, listReceipts(deadLetters), 0);
    },
    counts: async () => {
      const { Attributes } = await source.sqs.getQueueAttributes({
        QueueUrl: source.queueUrl,
        AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
      });
      const { ApproximateNumberOfMessages: visible, ApproximateNumberOfMessagesNotVisible: hidden } =
        Attributes ?? {};
      return { visible: Number(visible ?? 0), hidden: Number(hidden ?? 0) };
    },
  };
}

function splitIntoShares(most: number): number[] {
  return Array.from({ length: Math.ceil(most / MAX_ENTRIES) }, (_, index) =>
    Math.min(MAX_ENTRIES, most - index * MAX_ENTRIES),
  );
}

function listReceipts(deadLetters: readonly ReceivedDeadLetter[]): string[] {
  return deadLetters.map(({ receipt }) => receipt);
}

async function receive({ sqs, queueUrl }: ReceivingQueue, most: number): Promise<DeadLetter[]> {
  const { Messages = [] } = await sqs.receiveMessage({
    QueueUrl: queueUrl,
    MaxNumberOfMessages: most,
    VisibilityTimeout: HIDDEN_UNTIL_ANSWERED_SECONDS,
    WaitTimeSeconds: LONG_POLL_SECONDS,
    MessageAttributeNames: ['All'],
    MessageSystemAttributeNames: ['SentTimestamp', 'MessageGroupId', 'ApproximateReceiveCount'],
  });
  return Messages.map(parseDeadLetter);
}

const attribute = z
  .object({
    DataType: z.string(),
    StringValue: z.string().optional(),
    BinaryValue: z.instanceof(Uint8Array).optional(),
  })
  .transform(({ DataType: type, StringValue, BinaryValue }): DeadLetterAttribute =>
    BinaryValue === undefined ? { type, text: StringValue ?? '' } : { type, bytes: BinaryValue },
  );

const message = z.object({
  MessageId: z.string(),
  ReceiptHandle: z.string(),
  Body: z.string(),
  Attributes: z.object({
    SentTimestamp: z.coerce.number(),
    MessageGroupId: z.string().optional(),
    ApproximateReceiveCount: z.coerce.number().optional(),
  }),
  MessageAttributes: z.record(z.string(), attribute).default({}),
});

/** A dead letter from an SQS message that was received with all of its attributes. */
function parseDeadLetter(received: Message): DeadLetter {
  const { MessageId, ReceiptHandle, Body, Attributes, MessageAttributes } = message.parse(received);
  const { SentTimestamp: sentAt, MessageGroupId: group, ApproximateReceiveCount: receives } = Attributes;
  return {
    id: MessageId,
    sentAt,
    receipt: ReceiptHandle,
    body: Body,
    attributes: MessageAttributes,
    ...(group === undefined ? {} : { group }),
    ...(receives === undefined ? {} : { receives }),
  };
}
