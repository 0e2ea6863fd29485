import { type BatchResultErrorEntry, type SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs';
import type { QueueClient } from './aws/queue-client.ts';
import { inParallel } from './in-parallel.ts';
import { hasTimeAfter, type Pacing } from './invocation-deadline.ts';
import { sqsMessage, type OutgoingMessage } from './sqs-message.ts';

/** A queue, and what sending to it needs of time and chance: `random` is uniform in [0, 1). */
export type BatchTarget = Pacing & { sqs: QueueClient; queueUrl: string; random: () => number };

/** Some messages of a call could not be sent. The others were. */
export class MessagesNotSentError extends Error {
  override readonly name = 'MessagesNotSentError';
  readonly unsent: number;
  /** SQS's codes for the messages, each once; errors of whole requests by their name. */
  readonly codes: readonly string[];
  constructor(queueUrl: string, unsent: readonly Unsent[], of: number) {
    const queue = queueUrl.slice(queueUrl.lastIndexOf('/') + 1);
    const codes = [...new Set(unsent.map(({ code }) => code))];
    super(`${unsent.length} of ${of} messages could not be sent to ${queue}: ${codes.join(', ')}`, {
      cause: unsent.find(({ cause }) => cause !== undefined)?.cause,
    });
    this.unsent = unsent.length;
    this.codes = codes;
  }
}

/** Amazon SQS message quotas; the bytes are those of a whole batch, and of a message alone. */
const MAX_ENTRIES = 10;
const MAX_BYTES = 1024 * 1024;

/** Requests side by side: enough to be quick, and ten records of one invocation together stay within the SDK's 50 sockets. */
const SIDE_BY_SIDE = 5;

/** How often a message is sent before it is given up, and the upper bound of the first wait, which doubles. */
const MAX_ROUNDS = 4;
const FIRST_WAIT_MS = 100;

type Entry = SendMessageBatchRequestEntry & { Id: string };
type Failure = { entry: Entry; code: string; again: boolean; cause?: unknown };

/** A message that could not be sent, by its place among those that were to be, and why. */
export type Unsent = { index: number; code: string; cause?: unknown };

/** Sends messages as `unsentOf` does. @throws MessagesNotSentError */
export const sendInBatches = async (
  target: BatchTarget,
  messages: readonly OutgoingMessage[],
): Promise<void> => {
  const unsent = await unsentOf(target, messages);
  if (unsent.length > 0) throw new MessagesNotSentError(target.queueUrl, unsent, messages.length);
};

/**
 * Sends messages in batches, and answers with those that could not be. Entries that SQS failed for a reason of its own are sent again, in new batches, after a
 * jittered wait if there is time; entries that it will never take (SenderFault), and requests that the SDK has repeated
 * already, are not.
 */
export const unsentOf = async (
  target: BatchTarget,
  messages: readonly OutgoingMessage[],
): Promise<Unsent[]> => {
  const final: Failure[] = [];
  let pending = messages.map((message, index): Entry => ({ Id: String(index), ...sqsMessage(message) }));
  for (let round = 1; pending.length > 0; round += 1) {
    const failures = (
      await inParallel(batchesOf(pending), SIDE_BY_SIDE, (batch) => send(target, batch))
    ).flat();
    const waitMs = target.random() * FIRST_WAIT_MS * 2 ** (round - 1);
    const isLast = round === MAX_ROUNDS || !hasTimeAfter(waitMs, target.deadline);
    final.push(...failures.filter(({ again }) => isLast || !again));
    pending = isLast ? [] : failures.filter(({ again }) => again).map(({ entry }) => entry);
    if (pending.length > 0) await target.sleep(waitMs);
  }
  return final.map(({ entry, code, cause }) => ({ index: Number(entry.Id), code, cause }));
};

const send = async ({ sqs, queueUrl }: BatchTarget, batch: readonly Entry[]): Promise<Failure[]> => {
  try {
    const { Failed = [] } = await sqs.sendMessageBatch({ QueueUrl: queueUrl, Entries: [...batch] });
    return Failed.flatMap((failed) => failureOf(batch, failed));
  } catch (cause) {
    const code = cause instanceof Error ? cause.name : 'unknown';
    return batch.map((entry) => ({ entry, code, again: false, cause }));
  }
};

const failureOf = (batch: readonly Entry[], { Id, Code, SenderFault }: BatchResultErrorEntry): Failure[] =>
  batch
    .filter((entry) => entry.Id === Id)
    .map((entry) => ({ entry, code: Code ?? 'unknown', again: SenderFault !== true }));

const batchesOf = (entries: readonly Entry[]): Entry[][] => {
  const batches: Entry[][] = [];
  let batch: Entry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    const size = bytesOf(entry);
    if (batch.length === MAX_ENTRIES || bytes + size > MAX_BYTES) {
      batches.push(batch);
      batch = [];
      bytes = 0;
    }
    batch.push(entry);
    bytes += size;
  }
  batches.push(batch);
  return batches.filter(({ length }) => length > 0);
};

/** Name, type and value of attributes count as well (SQS developer guide, "Message attribute components"). */
const bytesOf = ({ MessageBody = '', MessageAttributes = {} }: Entry): number =>
  Object.entries(MessageAttributes).reduce(
    (sum, [name, { DataType = '', StringValue = '', BinaryValue }]) =>
      sum + Buffer.byteLength(name + DataType + StringValue) + (BinaryValue?.byteLength ?? 0),
    Buffer.byteLength(MessageBody),
  );
