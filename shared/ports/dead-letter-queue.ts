import type { DeadLetter, HeldLetter, Redriven } from '../domain/dead-letter.ts';

/** A dead-letter queue, as one who empties it sees it. */
export interface DeadLetterQueue {
  /**
   * Up to `most` letters, which nobody else is shown for the next five minutes. None does not mean that there are none:
   * SQS may overlook some.
   */
  receive(most: number): Promise<readonly DeadLetter[]>;
  /** @throws when some could not be removed; they come back. */
  remove(letters: readonly HeldLetter[]): Promise<void>;
  /** Everybody is shown them again. One that has come back by itself is no error. */
  release(letters: readonly HeldLetter[]): Promise<void>;
  /** Those that are held among them. SQS counts approximately, and lags behind by a minute. */
  count(): Promise<number>;
}

/** The queues that our functions consume, as one who sends dead letters back sees them. */
export interface WorkQueues {
  /** @throws when some could not be sent; others may have been. */
  send(messages: readonly Redriven[]): Promise<void>;
}
