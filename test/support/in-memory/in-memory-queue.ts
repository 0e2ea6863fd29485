import type { VirtualClock } from './virtual-clock.ts';

export type QueuedMessage<T> = { id: string; value: T; receiveCount: number };

export type InMemoryQueue<T> = {
  send(value: T, delaySeconds?: number): void;
  /** Taken after ten receives, as redrive does. */
  readonly deadLetters: readonly T[];
  /** Sent and not yet acknowledged. */
  readonly waiting: number;
};

const VISIBILITY_MS = 180_000;
const MOST_RECEIVES = 10;

/** An SQS queue with one consumer that takes every message as it becomes visible: delays, visibility, redrive. */
export const inMemoryQueue = <T>(
  clock: VirtualClock,
  consume: (message: QueuedMessage<T>) => Promise<void>,
): InMemoryQueue<T> => {
  const deadLetters: T[] = [];
  let sent = 0;
  let waiting = 0;

  const receive = async (message: QueuedMessage<T>): Promise<void> => {
    const received = { ...message, receiveCount: message.receiveCount + 1 };
    try {
      await consume(structuredClone(received));
      waiting -= 1;
    } catch {
      returnLater(received);
    }
  };

  const returnLater = (message: QueuedMessage<T>): void => {
    if (message.receiveCount >= MOST_RECEIVES) {
      deadLetters.push(message.value);
      waiting -= 1;
      return;
    }
    clock.at(clock.now() + VISIBILITY_MS, () => void receive(message));
  };

  return {
    deadLetters,
    get waiting() {
      return waiting;
    },
    send: (value, delaySeconds = 0) => {
      sent += 1;
      waiting += 1;
      const message = { id: `message-${sent}`, value: structuredClone(value), receiveCount: 0 };
      clock.at(clock.now() + delaySeconds * 1000, () => void receive(message));
    },
  };
};
