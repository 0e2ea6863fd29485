import type {
  SendMessageBatchCommandInput,
  SendMessageBatchCommandOutput,
  SendMessageBatchRequestEntry,
  SQS,
} from '@aws-sdk/client-sqs';
import { inParallel } from '../in-parallel.ts';
import { hasTimeAfter, type Pacing } from '../lambda/invocation-deadline.ts';
import { sqsMessage, type OutgoingMessage } from './message.ts';

/** A queue, with the time limit and randomness that sending needs: `random` is uniform in [0, 1). */
export type BatchTarget = Pacing & {
  sqs: { sendMessageBatch: (batch: SendMessageBatchCommandInput) => Promise<SendMessageBatchCommandOutput> };
  queueUrl: string;
  random: () => number;
};

/**
 * Some messages of a call could not be sent. All others were sent. Names SQS's error codes, each once; a failed request
 * contributes the name of its error.
 */
export class MessagesNotSentError extends Error {
  override readonly name = 'MessagesNotSentError';
  readonly isTransient = true;
  constructor(queueUrl: string, unsent: readonly Unsent[], of: number) {
    const queue = queueUrl.slice(queueUrl.lastIndexOf('/') + 1);
    const codes = [...new Set(unsent.map(({ code }) => code))];
    super(`${unsent.length} of ${of} messages could not be sent to ${queue}: ${codes.join(', ')}`, {
      cause: unsent.find(({ cause }) => cause !== undefined)?.cause,
    });
  }
}

/** Amazon SQS message quotas. The byte limit applies to a batch as a whole and to a single message. */
const MAX_ENTRIES = 10;
export const MAX_BYTES = 1024 * 1024;

/**
 * For each call, so that 100 records of an invocation together stay within a client's 500 connections.
 */
const CONCURRENT_REQUESTS = 5;

/** How often a message is sent at most, and the upper bound of the first wait in milliseconds, which doubles. */
const MAX_ROUNDS = 4;
const FIRST_WAIT_MS = 100;

type Entry = SendMessageBatchRequestEntry & { Id: string };
type Failure = { code: string; again: boolean; cause?: unknown };

/** A message that could not be sent: its index among the messages of the call, and the reason. */
export type Unsent = { index: number; code: string; cause?: unknown };

/** Called once for each message by index, as soon as its result is known: sent, or the reason why not. */
type Settle = (index: number, unsent?: Unsent) => void;

/**
 * Sends one message. AWS errors pass through.
 * @throws MessagesNotSentError if SQS does not confirm it
 */
export async function sendMessage(
  { sqs, queueUrl }: { sqs: Pick<SQS, 'sendMessage'>; queueUrl: string },
  message: OutgoingMessage,
): Promise<void> {
  const { MessageId } = await sqs.sendMessage({ QueueUrl: queueUrl, ...sqsMessage(message) });
  if (MessageId === undefined)
    throw new MessagesNotSentError(queueUrl, [{ index: 0, code: 'NotConfirmed' }], 1);
}

/**
 * Sends messages as `sendEach` does.
 * @throws MessagesNotSentError
 */
export async function sendInBatches(
  target: BatchTarget,
  messages: readonly OutgoingMessage[],
): Promise<void> {
  const unsent: Unsent[] = [];
  await sendEach(target, messages, (_, failed) => {
    if (failed !== undefined) unsent.push(failed);
  });
  if (unsent.length > 0) throw new MessagesNotSentError(target.queueUrl, unsent, messages.length);
}

/**
 * Sends messages in batches. Entries that SQS failed for an internal reason or did not confirm are sent again in
 * new batches, after a jittered wait if there is time. Entries with SenderFault, and requests that the client has
 * already retried, are not.
 */
export async function sendEach(
  target: BatchTarget,
  messages: readonly OutgoingMessage[],
  settle: Settle,
): Promise<void> {
  let pending = messages.map((message, index): Entry => ({ Id: String(index), ...sqsMessage(message) }));
  for (let round = 1; pending.length > 0; round += 1) {
    const waitMs = target.random() * FIRST_WAIT_MS * 2 ** (round - 1);
    const again: Entry[] = [];
    await inParallel(splitIntoBatches(pending), CONCURRENT_REQUESTS, async (batch) => {
      const failures = await send(target, batch);
      const isLast = round === MAX_ROUNDS || !hasTimeAfter(waitMs, target.deadline);
      for (const entry of batch) {
        const failure = failures.get(entry.Id);
        if (failure?.again === true && !isLast) again.push(entry);
        else settle(Number(entry.Id), failure && { index: Number(entry.Id), ...failure });
      }
    });
    pending = again;
    if (pending.length > 0) await target.sleep(waitMs);
  }
}

/** By the ids of the entries. */
type Failures = ReadonlyMap<string | undefined, Failure>;

async function send({ sqs, queueUrl }: BatchTarget, batch: readonly Entry[]): Promise<Failures> {
  try {
    const { Successful, Failed } = await sqs.sendMessageBatch({ QueueUrl: queueUrl, Entries: [...batch] });
    const confirmed = new Set(Successful?.map(({ Id }) => Id));
    const unconfirmed = batch.filter(({ Id }) => !confirmed.has(Id));
    return new Map([
      ...unconfirmed.map(({ Id }): [string, Failure] => [Id, { code: 'NotConfirmed', again: true }]),
      ...(Failed ?? []).map(({ Id, Code, SenderFault }): [string | undefined, Failure] => [
        Id,
        { code: Code ?? 'unknown', again: SenderFault !== true },
      ]),
    ]);
  } catch (cause) {
    const code = cause instanceof Error ? cause.name : 'unknown';
    return new Map(batch.map(({ Id }) => [Id, { code, again: false, cause }]));
  }
}

function splitIntoBatches(entries: readonly Entry[]): Entry[][] {
  const batches: Entry[][] = [];
  let room = 0;
  for (const entry of entries) {
    const bytes = countBytes(entry);
    const last = batches.at(-1);
    if (last === undefined || bytes > room || last.length === MAX_ENTRIES) {
      batches.push([entry]);
      room = MAX_BYTES - bytes;
    } else {
      last.push(entry);
      room -= bytes;
    }
  }
  return batches;
}

/** The name, type and value of attributes count too (SQS developer guide, "Message attribute components"). */
function countBytes({ MessageBody = '', MessageAttributes = {} }: Entry): number {
  return Object.entries(MessageAttributes).reduce(
    (sum, [name, { DataType = '', StringValue = '', BinaryValue }]) =>
      sum + Buffer.byteLength(name + DataType + StringValue) + (BinaryValue?.byteLength ?? 0),
    Buffer.byteLength(MessageBody),
  );
}
