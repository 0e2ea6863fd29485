import * as z from 'zod';
import type {
  DeadLetter,
  DeadLetterAttribute,
  ReceivedDeadLetter,
} from '../../domain/delivery/dead-letter.ts';
import type { DeadLetterQueue } from '../../ports/queues.ts';
import { inParallel } from '../in-parallel.ts';
import {
  type BatchResultErrorEntry,
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  type Message,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';

type DeadLetterSource = {
  sqs: SQSClient;
  queueUrl: string;
  sleep: (milliseconds: number) => Promise<void>;
};

/** Dead letters that could not be deleted from the dead-letter queue, though they are done with. */
class DeadLettersNotRemovedError extends Error {
  override readonly name = 'DeadLettersNotRemovedError';

  constructor(queueUrl: string, failed: readonly BatchResultErrorEntry[]) {
    const codes = [...new Set(failed.map(({ Code }) => Code ?? 'unknown'))].join(', ');
    const queue = queueUrl.slice(queueUrl.lastIndexOf('/') + 1);
    super(`${failed.length} messages could not be removed from ${queue}: ${codes}`);
  }
}

/** Maximum messages of one request (Amazon SQS message quotas). */
const MOST_ENTRIES = 10;
const CONCURRENT_REQUESTS = 5;

/** Seconds. Long polling asks all SQS servers, short polling only a sample of them. */
const LONG_POLL_SECONDS = 1;

/** How often a change is requested at most; the first wait in milliseconds, which doubles. */
const MOST_ROUNDS = 3;
const FIRST_WAIT_MS = 100;

export function sqsDeadLetterQueue(source: DeadLetterSource): DeadLetterQueue {
  return {
    receive: async (most, hiddenSeconds) => {
      const ask = (share: number) => receive(source, share, hiddenSeconds);
      return (await inParallel(sharesOf(most), CONCURRENT_REQUESTS, ask)).flat();
    },
    remove: async (deadLetters) => {
      const failed = await changeAll(source, deadLetters, remove);
      if (failed.length > 0) throw new DeadLettersNotRemovedError(source.queueUrl, failed);
    },
    release: async (deadLetters) => {
      // Entries that still fail become visible again when their visibility timeout ends.
      await changeAll(source, deadLetters, release);
    },
    counts: async () => {
      const { Attributes } = await source.sqs.send(
        new GetQueueAttributesCommand({
          QueueUrl: source.queueUrl,
          AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
        }),
      );
      const { ApproximateNumberOfMessages: visible, ApproximateNumberOfMessagesNotVisible: hidden } =
        Attributes ?? {};
      return { visible: Number(visible ?? 0), hidden: Number(hidden ?? 0) };
    },
  };
}

function sharesOf(most: number): number[] {
  return Array.from({ length: Math.ceil(most / MOST_ENTRIES) }, (_, index) =>
    Math.min(MOST_ENTRIES, most - index * MOST_ENTRIES),
  );
}

async function receive(
  { sqs, queueUrl }: DeadLetterSource,
  most: number,
  hiddenSeconds: number,
): Promise<DeadLetter[]> {
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: most,
      VisibilityTimeout: hiddenSeconds,
      WaitTimeSeconds: LONG_POLL_SECONDS,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['SentTimestamp', 'MessageGroupId', 'ApproximateReceiveCount'],
    }),
  );
  return Messages.map(parseDeadLetter);
}

type Entry = { Id: string; ReceiptHandle: string };
type Change = (
  source: DeadLetterSource,
  entries: Entry[],
) => Promise<{ Failed?: BatchResultErrorEntry[] | undefined }>;

const remove: Change = async ({ sqs, queueUrl }, entries) =>
  sqs.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries: entries }));

const release: Change = async ({ sqs, queueUrl }, entries) =>
  sqs.send(
    new ChangeMessageVisibilityBatchCommand({
      QueueUrl: queueUrl,
      Entries: entries.map((entry) => ({ ...entry, VisibilityTimeout: 0 })),
    }),
  );

/** The entries that failed in the end. Failures inside SQS are retried; those with SenderFault are not. */
async function changeAll(
  source: DeadLetterSource,
  deadLetters: readonly ReceivedDeadLetter[],
  change: Change,
): Promise<BatchResultErrorEntry[]> {
  const batches = sharesOf(deadLetters.length).map((size, index) =>
    deadLetters.slice(index * MOST_ENTRIES, index * MOST_ENTRIES + size),
  );
  return (
    await inParallel(batches, CONCURRENT_REQUESTS, (batch) => changeBatch(source, batch, change))
  ).flat();
}

async function changeBatch(
  source: DeadLetterSource,
  batch: readonly ReceivedDeadLetter[],
  change: Change,
): Promise<BatchResultErrorEntry[]> {
  let pending = batch.map(({ receipt }, index): Entry => ({ Id: String(index), ReceiptHandle: receipt }));
  const final: BatchResultErrorEntry[] = [];
  for (let round = 1; pending.length > 0; round += 1) {
    const { Failed = [] } = await change(source, pending);
    const isLast = round === MOST_ROUNDS;
    const again = new Set(Failed.flatMap(({ Id, SenderFault }) => (SenderFault || isLast ? [] : [Id])));
    final.push(...Failed.filter(({ Id }) => !again.has(Id)));
    pending = pending.filter(({ Id }) => again.has(Id));
    if (pending.length > 0) await source.sleep(FIRST_WAIT_MS * 2 ** (round - 1));
  }
  return final;
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
