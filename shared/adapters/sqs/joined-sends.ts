import { AsyncLocalStorage } from 'node:async_hooks';
import { MessagesNotSentError, sendEach, sendInBatches, type BatchTarget, type Unsent } from './batches.ts';
import type { OutgoingMessage } from './message.ts';

/** Messages in a full request (Amazon SQS message quotas). A call with as many is sent alone, at once. */
const FULL_REQUEST = 10;

/** Milliseconds. Longer than SQS usually takes: calls stop waiting only for a request that is stuck or retried. */
const MAX_WAIT_MS = 50;

/**
 * Sends messages.
 * @throws MessagesNotSentError for these messages only
 */
export type Send = (messages: readonly OutgoingMessage[]) => Promise<void>;

type WaitingSend = {
  messages: readonly OutgoingMessage[];
  resolve: () => void;
  reject: (error: unknown) => void;
};

/**
 * Sends to one queue. Messages that arrive during a request go together with the next one, so that ten messages
 * of an invocation take about two requests. SQS charges by request, and each costs as much CPU as one or two
 * POSTs. Each caller gets the result of its messages as soon as SQS has answered for them.
 */
export function joinedSends(target: BatchTarget): Send {
  let waiting: WaitingSend[] = [];
  let inFlight = 0;
  let timer: NodeJS.Timeout | undefined;
  // The next request uses the context, and so the deadline, of the invocation that asked last.
  let inLastInvocation = AsyncLocalStorage.snapshot();

  const sendWaiting = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const together = waiting;
    waiting = [];
    inFlight += 1;
    void inLastInvocation(sendTogether, target, together).finally(() => {
      inFlight -= 1;
      if (inFlight === 0) sendWaiting();
    });
  };

  return (messages) => {
    if (messages.length === 0) return Promise.resolve();
    if (messages.length >= FULL_REQUEST) return sendInBatches(target, messages);
    return new Promise((resolve, reject) => {
      waiting.push({ messages, resolve, reject });
      inLastInvocation = AsyncLocalStorage.snapshot();
      if (inFlight === 0) sendWaiting();
      else timer ??= setTimeout(sendWaiting, MAX_WAIT_MS);
    });
  };
}

async function sendTogether(target: BatchTarget, together: readonly WaitingSend[]): Promise<void> {
  const entries = together.flatMap((one) => {
    const settled = resultCollector(target, one);
    return one.messages.map((message) => ({ message, settled }));
  });
  try {
    await sendEach(
      target,
      entries.map(({ message }) => message),
      (index, unsent) => entries[index]?.settled(unsent),
    );
  } catch (error) {
    for (const { reject } of together) reject(error);
  }
}

/** Collects the results of a caller's messages and settles its promise after the last one. */
function resultCollector({ queueUrl }: BatchTarget, { messages, resolve, reject }: WaitingSend) {
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
