import type { DeadLetterReason } from '../domain/vocabulary.ts';
import type {
  DeadLetter,
  UndeliverableNotice,
  ReceivedDeadLetter,
  RedrivenMessage,
} from '../domain/delivery/dead-letter.ts';
import type { FirstJob } from '../domain/delivery/job.ts';
import type { Operation } from '../domain/recovery/operation.ts';

/** Where first attempts wait. */
export interface DeliveryQueue<Job extends FirstJob = FirstJob> {
  /**
   * Sends every job, in batches; entries that the queue refused are sent again within bounds.
   * @throws when some could not be sent: the caller repeats all, claims make the copies harmless.
   */
  send(jobs: readonly Job[], delaySeconds?: number): Promise<void>;
}

/** The ingress queue, as one who publishes sees it. */
export interface Ingress {
  /** @throws when some could not be sent: those already sent stay sent, and the caller repeats all under the same ids. */
  publish(
    messages: readonly {
      body: string;
      attributes?: Record<string, string>;
      delaySeconds?: number;
      /** Whose share of a fair queue it counts to. */
      group?: string;
    }[],
  ): Promise<void>;
}

/** The queue that feeds `operate`. */
export interface Operations {
  /** `delaySeconds` 0 to 900, by default 0. @throws when it could not be sent */
  send(operation: Operation, delaySeconds?: number): Promise<void>;
}

/** Messages that our own functions cannot process, kept as they came with the reason. Never for a subscriber that is down. */
export interface DeadLetters {
  send(
    original: { body: string; id: string; attributes?: Record<string, string> },
    reason: DeadLetterReason,
  ): Promise<void>;
}

/** Deliveries that subscribers refused or that ran out of retries. */
export interface Undeliverables {
  send(notice: UndeliverableNotice): Promise<void>;
}

/** A dead-letter queue, as one who empties it sees it. */
export interface DeadLetterQueue {
  /**
   * Up to `most` letters, hidden from others for the next five minutes. None does not mean that there are none:
   * SQS may overlook some.
   */
  receive(most: number): Promise<readonly DeadLetter[]>;
  /** @throws when some could not be removed; they come back. */
  remove(letters: readonly ReceivedDeadLetter[]): Promise<void>;
  /** Makes the messages visible again. One that is visible already is no error. */
  release(letters: readonly ReceivedDeadLetter[]): Promise<void>;
  /** Those that are held among them. SQS counts approximately, and lags behind by a minute. */
  count(): Promise<number>;
}

/** The queues that our functions consume, as one who sends dead letters back sees them. */
export interface WorkQueues {
  /** @throws when some could not be sent; others may have been. */
  send(messages: readonly RedrivenMessage[]): Promise<void>;
}

/** Messages, as SQS counts them approximately. `waiting`: to be had, or in flight. `delayed`: sent for a later time. */
export type QueueDepth = { waiting: number; delayed: number };

/** How much lies in the deployment's SQS queues. */
export interface QueueDepths {
  /** By the queue's name. @throws when one cannot be asked */
  approximate(): Promise<Record<string, QueueDepth>>;
}
