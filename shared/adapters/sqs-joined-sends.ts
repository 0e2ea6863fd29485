import {
  MessagesNotSentError,
  sendInBatches,
  unsentOf,
  type BatchTarget,
  type Unsent,
} from './sqs-batches.ts';
import type { OutgoingMessage } from './sqs-message.ts';

/** As many fill a request of their own (Amazon SQS message quotas). */
const FULL_REQUEST = 10;

/** @throws MessagesNotSentError of these messages alone */
export type Send = (messages: readonly OutgoingMessage[]) => Promise<void>;

type Waiting = {
  messages: readonly OutgoingMessage[];
  resolve: () => void;
  reject: (error: unknown) => void;
};

/** In milliseconds. Longer than SQS takes as a rule, so that only what is stuck, or tried again, is not waited for. */
const MOST_WAIT_MS = 50;

/**
 * Sends to one queue. What comes while a request is under way goes with the next, together with all else that came
 * meanwhile: ten messages of one invocation take about two. SQS charges by request, and each takes as much of the processor
 * as a POST or two.
 */
export const joinedSends = (target: BatchTarget): Send => {
  let waiting: Waiting[] = [];
  let underWay = 0;
  let timer: NodeJS.Timeout | undefined;

  const sendWaiting = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const together = waiting;
    waiting = [];
    underWay += 1;
    void sendTogether(target, together).finally(() => {
      underWay -= 1;
      if (underWay === 0) sendWaiting();
    });
  };

  return (messages) => {
    if (messages.length >= FULL_REQUEST) return sendInBatches(target, messages);
    return new Promise((resolve, reject) => {
      waiting.push({ messages, resolve, reject });
      if (underWay === 0) sendWaiting();
      else timer ??= setTimeout(sendWaiting, MOST_WAIT_MS);
    });
  };
};

/** Each gets the failures of its own messages only. */
const sendTogether = async (target: BatchTarget, together: readonly Waiting[]): Promise<void> => {
  try {
    const unsent = await unsentOf(
      target,
      together.flatMap(({ messages }) => messages),
    );
    let first = 0;
    for (const one of together) {
      settle(target, one, unsentAmong(unsent, first, one.messages.length));
      first += one.messages.length;
    }
  } catch (error) {
    for (const { reject } of together) reject(error);
  }
};

const unsentAmong = (unsent: readonly Unsent[], first: number, count: number): Unsent[] =>
  unsent.filter(({ index }) => index >= first && index < first + count);

const settle = (
  { queueUrl }: BatchTarget,
  { messages, resolve, reject }: Waiting,
  unsent: Unsent[],
): void => {
  if (unsent.length === 0) resolve();
  else reject(new MessagesNotSentError(queueUrl, unsent, messages.length));
};
