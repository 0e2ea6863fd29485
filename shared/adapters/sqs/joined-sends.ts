import { AsyncLocalStorage } from 'node:async_hooks';
import { MessagesNotSentError, sendEach, sendInBatches, type BatchTarget, type Unsent } from './batches.ts';
import type { OutgoingMessage } from './message.ts';

/** As many fill a request of their own (Amazon SQS message quotas). */
const FULL_REQUEST = 10;

/** In milliseconds. Longer than SQS takes as a rule, so that only what is stuck, or tried again, is not waited for. */
const MOST_WAIT_MS = 50;

/** @throws MessagesNotSentError of these messages alone */
export type Send = (messages: readonly OutgoingMessage[]) => Promise<void>;

type Waiting = {
  messages: readonly OutgoingMessage[];
  resolve: () => void;
  reject: (error: unknown) => void;
};

/**
 * Sends to one queue. What comes while a request is under way goes with the next, together with all else that came
 * meanwhile: ten messages of one invocation take about two. SQS charges by request, and each takes as much of the processor
 * as a POST or two. Each is told of its own messages, as soon as SQS has answered for these.
 */
export function joinedSends(target: BatchTarget): Send {
  let waiting: Waiting[] = [];
  let underWay = 0;
  let timer: NodeJS.Timeout | undefined;
  // Whatever comes next is of the invocation that asked last, and has its deadline.
  let ofLastInvocation = AsyncLocalStorage.snapshot();

  const sendWaiting = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const together = waiting;
    waiting = [];
    underWay += 1;
    void ofLastInvocation(sendTogether, target, together).finally(() => {
      underWay -= 1;
      if (underWay === 0) sendWaiting();
    });
  };

  return (messages) => {
    if (messages.length === 0) return Promise.resolve();
    if (messages.length >= FULL_REQUEST) return sendInBatches(target, messages);
    return new Promise((resolve, reject) => {
      waiting.push({ messages, resolve, reject });
      ofLastInvocation = AsyncLocalStorage.snapshot();
      if (underWay === 0) sendWaiting();
      else timer ??= setTimeout(sendWaiting, MOST_WAIT_MS);
    });
  };
}

async function sendTogether(target: BatchTarget, together: readonly Waiting[]): Promise<void> {
  const places = together.flatMap((one) => {
    const settled = settling(target, one);
    return one.messages.map((message) => ({ message, settled }));
  });
  try {
    await sendEach(
      target,
      places.map(({ message }) => message),
      (index, unsent) => places[index]?.settled(unsent),
    );
  } catch (error) {
    for (const { reject } of together) reject(error);
  }
}

/** Takes what became of each message of one who waits, and tells it all once it has heard of the last. */
function settling({ queueUrl }: BatchTarget, { messages, resolve, reject }: Waiting) {
  const failed: Unsent[] = [];
  let outstanding = messages.length;
  return (unsent: Unsent | undefined): void => {
    if (unsent !== undefined) failed.push(unsent);
    outstanding -= 1;
    if (outstanding > 0) return;
    if (failed.length === 0) resolve();
    else reject(new MessagesNotSentError(queueUrl, failed, messages.length));
  };
}
