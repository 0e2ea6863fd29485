import type { BatchResultErrorEntry, SQS } from '@aws-sdk/client-sqs';
import { inParallel } from '../in-parallel.ts';

/** A queue whose received messages are deleted or made visible here, outside of Lambda. */
export type ReceivingQueue = {
  sqs: SQS;
  queueUrl: string;
  sleep: (milliseconds: number) => Promise<void>;
};

/** Messages of one request (Amazon SQS message quotas). */
export const MAX_ENTRIES = 10;
const CONCURRENT_REQUESTS = 5;

/** How often a change is requested at most; the first wait in milliseconds, which doubles. */
const MAX_ROUNDS = 3;
const FIRST_WAIT_MS = 100;

/** Deletes received messages by their receipt handles. Returns the entries that failed in the end. */
export function deleteReceived(
  queue: ReceivingQueue,
  receipts: readonly string[],
): Promise<BatchResultErrorEntry[]> {
  return changeAll(queue, receipts, (Entries) =>
    queue.sqs.deleteMessageBatch({ QueueUrl: queue.queueUrl, Entries }),
  );
}

/** Hides received messages for this many seconds from now; 0: visible at once. Returns the entries that failed in the end. */
export function hideReceived(
  queue: ReceivingQueue,
  receipts: readonly string[],
  seconds: number,
): Promise<BatchResultErrorEntry[]> {
  return changeAll(queue, receipts, (entries) =>
    queue.sqs.changeMessageVisibilityBatch({
      QueueUrl: queue.queueUrl,
      Entries: entries.map((entry) => ({ ...entry, VisibilityTimeout: seconds })),
    }),
  );
}

type Entry = { Id: string; ReceiptHandle: string };
type Change = (entries: Entry[]) => Promise<{ Failed?: BatchResultErrorEntry[] | undefined }>;

async function changeAll(
  queue: ReceivingQueue,
  receipts: readonly string[],
  change: Change,
): Promise<BatchResultErrorEntry[]> {
  const batches = Array.from({ length: Math.ceil(receipts.length / MAX_ENTRIES) }, (_, index) =>
    receipts.slice(index * MAX_ENTRIES, (index + 1) * MAX_ENTRIES),
  );
  return (
    await inParallel(batches, CONCURRENT_REQUESTS, (batch) => changeBatch(queue, batch, change))
  ).flat();
}

/** The entries that failed in the end. Failures inside SQS are retried; those with SenderFault are not. */
async function changeBatch(
  { sleep }: ReceivingQueue,
  batch: readonly string[],
  change: Change,
): Promise<BatchResultErrorEntry[]> {
  let pending = batch.map((receipt, index): Entry => ({ Id: String(index), ReceiptHandle: receipt }));
  const final: BatchResultErrorEntry[] = [];
  for (let round = 1; pending.length > 0; round += 1) {
    const { Failed = [] } = await change(pending);
    const isLast = round === MAX_ROUNDS;
    const again = new Set(Failed.flatMap(({ Id, SenderFault }) => (SenderFault || isLast ? [] : [Id])));
    final.push(...Failed.filter(({ Id }) => !again.has(Id)));
    pending = pending.filter(({ Id }) => again.has(Id));
    if (pending.length > 0) await sleep(FIRST_WAIT_MS * 2 ** (round - 1));
  }
  return final;
}
