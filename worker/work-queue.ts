import { SQS, type Message } from '@aws-sdk/client-sqs';
import type { SQSRecord } from 'aws-lambda';
import * as z from 'zod';
import { type AwsAccess, slim } from '../shared/adapters/aws/client-options.ts';
import { Sha256 } from '../shared/adapters/aws/sha256.ts';
import {
  deleteReceived,
  hideReceived,
  MAX_ENTRIES,
  type ReceivingQueue,
} from '../shared/adapters/sqs/receipts.ts';
import type { WorkQueueName } from '../shared/domain/work-queues.ts';

/** A queue that a worker consumes. */
export type WorkQueue = {
  name: WorkQueueName;
  /**
   * Up to `most` messages, hidden for `HIDDEN_SECONDS`. Waits up to `waitSeconds` for the first.
   * @throws what AWS or the network answers; an AbortError once the signal is aborted
   */
  receive: (most: number, waitSeconds: number, signal: AbortSignal) => Promise<SQSRecord[]>;
  /** Acknowledges a record, in one request with others. @throws RecordNotDeletedError */
  remove: (record: SQSRecord) => Promise<void>;
  /** Hides records for this many seconds from now; 0: makes them visible. Best effort. */
  hide: (records: readonly SQSRecord[], seconds: number) => Promise<void>;
};

/** How long a crash hides a message. Longer than the pause between two extensions, and than a stall of the process. */
export const HIDDEN_SECONDS = 30;

/** The longest that SQS waits for a message (ReceiveMessage, Amazon SQS API reference). */
export const LONG_POLL_SECONDS = 20;

/** Milliseconds beyond the long poll until a request has failed. */
const ANSWER_MS = 5_000;

/** SQS did not delete a message, which will be received again. Its work is done, and a repeat finds it done. */
export class RecordNotDeletedError extends Error {
  override readonly name = 'RecordNotDeletedError';
  constructor(queue: WorkQueueName, code: string) {
    super(`A message of the ${queue} queue could not be deleted: ${code}`);
  }
}

/**
 * The client for receives: its requests outlast a long poll, and are not repeated, because the poller backs off. `access`:
 * by default the SDK's chain of credentials and its region.
 */
export function receivingClient(access: AwsAccess): SQS {
  return slim(
    new SQS({
      md5: false,
      useQueueUrlAsEndpoint: false,
      sha256: Sha256,
      maxAttempts: 1,
      requestHandler: {
        connectionTimeout: 3_000,
        requestTimeout: LONG_POLL_SECONDS * 1000 + ANSWER_MS,
        throwOnRequestTimeout: true,
      },
      ...access,
    }),
  );
}

export function sqsWorkQueue(
  { name, url }: { name: WorkQueueName; url: string },
  { receiver, ...means }: Pick<ReceivingQueue, 'sqs' | 'sleep'> & { receiver: SQS },
): WorkQueue {
  const queue = { ...means, queueUrl: url };
  const recordFor = recordReader(url);
  return {
    name,
    receive: async (most, waitSeconds, signal) => {
      const request = {
        QueueUrl: url,
        MaxNumberOfMessages: most,
        WaitTimeSeconds: waitSeconds,
        VisibilityTimeout: HIDDEN_SECONDS,
        MessageSystemAttributeNames: ['All' as const],
        MessageAttributeNames: ['All'],
      };
      const { Messages = [] } = await receiver.receiveMessage(request, { abortSignal: signal });
      return Messages.map(recordFor);
    },
    remove: joinedDeletions(name, queue),
    hide: async (records, seconds) => {
      await hideReceived(
        queue,
        records.map(({ receiptHandle }) => receiptHandle),
        seconds,
      );
    },
  };
}

type Deletion = { receipt: string; resolve: () => void; reject: (error: unknown) => void };

/** Milliseconds that a deletion waits for others. A crash meanwhile repeats the message, whose work is found done. */
const GATHER_MS = 25;

/** Deletions within a moment, or during a request, go together, up to ten. */
function joinedDeletions(name: WorkQueueName, queue: ReceivingQueue): WorkQueue['remove'] {
  const waiting: Deletion[] = [];
  let sending = false;
  const sendAll = async (): Promise<void> => {
    if (sending) return;
    sending = true;
    while (waiting.length > 0) {
      if (waiting.length < MAX_ENTRIES) await queue.sleep(GATHER_MS);
      await deleteTogether(name, queue, waiting.splice(0, MAX_ENTRIES));
    }
    sending = false;
  };
  return ({ receiptHandle: receipt }) =>
    new Promise((resolve, reject) => {
      waiting.push({ receipt, resolve, reject });
      void sendAll();
    });
}

async function deleteTogether(
  name: WorkQueueName,
  queue: ReceivingQueue,
  together: readonly Deletion[],
): Promise<void> {
  try {
    const receipts = together.map(({ receipt }) => receipt);
    const failed = new Map((await deleteReceived(queue, receipts)).map(({ Id, Code }) => [Id, Code]));
    for (const [index, { resolve, reject }] of together.entries()) {
      if (failed.has(String(index)))
        reject(new RecordNotDeletedError(name, failed.get(String(index)) ?? 'unknown'));
      else resolve();
    }
  } catch (error) {
    for (const { reject } of together) reject(error);
  }
}

const attribute = z
  .object({ DataType: z.string(), StringValue: z.string().optional() })
  .transform(({ DataType, StringValue }) => ({
    dataType: DataType,
    ...(StringValue !== undefined && { stringValue: StringValue }),
  }));

const message = z.object({
  MessageId: z.string(),
  ReceiptHandle: z.string(),
  Body: z.string().default(''),
  Attributes: z.object({
    ApproximateReceiveCount: z.string(),
    SentTimestamp: z.string(),
    SenderId: z.string().default(''),
    ApproximateFirstReceiveTimestamp: z.string().default(''),
  }),
  MessageAttributes: z.record(z.string(), attribute).default({}),
});

/** A received message in the form that Lambda passes to a function ("Using Lambda with Amazon SQS", developer guide). */
function recordReader(url: string): (received: Message) => SQSRecord {
  const [account = '', queue = ''] = new URL(url).pathname.split('/').slice(-2);
  return (received) => {
    const { MessageId, ReceiptHandle, Body, Attributes, MessageAttributes } = message.parse(received);
    return {
      messageId: MessageId,
      receiptHandle: ReceiptHandle,
      body: Body,
      attributes: Attributes,
      messageAttributes: MessageAttributes,
      md5OfBody: '',
      eventSource: 'aws:sqs',
      eventSourceARN: `arn:aws:sqs::${account}:${queue}`,
      awsRegion: '',
    };
  };
}
