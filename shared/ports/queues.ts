import type { DeadLetterReason } from '../domain/message/vocabulary.ts';
import type {
  DeadLetter,
  UndeliverableNotice,
  ReceivedDeadLetter,
  RedrivenMessage,
} from '../domain/delivery/dead-letter.ts';
import type { FirstJob } from '../domain/delivery/job.ts';
import type { Operation } from '../domain/recovery/operation.ts';

/** The queue of first-attempt jobs. */
export interface DeliveryQueue<Job extends FirstJob = FirstJob> {
  /**
   * Sends all jobs in batches, with bounded retries of refused entries. `delaySeconds`: whole, 0 to 900, by default 0.
   * @throws if some could not be sent: the caller repeats all, and claims make the copies harmless.
   */
  send(jobs: readonly Job[], delaySeconds?: number): Promise<void>;
}

/** The ingress queue, for publishing. */
export interface Ingress {
  /** @throws if some could not be sent: sent ones stay sent, and the caller repeats all with the same ids. */
  publish(
    messages: readonly {
      body: string;
      attributes?: Record<string, string>;
      /** Message group in a fair queue. */
      group?: string;
    }[],
  ): Promise<void>;
}

/** The queue that feeds `operate`. */
export interface Operations {
  /** `delaySeconds`: whole, 0 to 900, by default 0. @throws if it could not be sent */
  send(operation: Operation, delaySeconds?: number): Promise<void>;
}

/** Messages that Posthaste cannot process, unchanged and with the reason. Not used for subscriber failures. */
export interface DeadLetters {
  send(
    original: { body: string; id: string; attributes?: Record<string, string> },
    reason: DeadLetterReason,
  ): Promise<void>;
}

/** Deliveries that were rejected or ran out of retries. */
export interface Undeliverables {
  send(notice: UndeliverableNotice): Promise<void>;
}

/** Approximate SQS counts, which lag by up to a minute. `hidden`: received by a program that has not removed them yet. */
export type DeadLetterCounts = { visible: number; hidden: number };

/** A dead-letter queue, for redrives and for looks that change nothing. */
export interface DeadLetterQueue {
  /**
   * Up to `limit` dead letters, hidden from other receivers for `hiddenSeconds`. An empty result does not mean an
   * empty queue: SQS may miss some.
   */
  receive(limit: number, hiddenSeconds: number): Promise<readonly DeadLetter[]>;
  /** @throws if some could not be removed; they become visible again. */
  remove(deadLetters: readonly ReceivedDeadLetter[]): Promise<void>;
  /** Makes the messages visible again. A visible message is not an error. */
  release(deadLetters: readonly ReceivedDeadLetter[]): Promise<void>;
  counts(): Promise<DeadLetterCounts>;
}

/** The queues that functions consume, for redrives. */
export interface WorkQueues {
  /** @throws if some could not be sent; others may have been. */
  send(messages: readonly RedrivenMessage[]): Promise<void>;
}

/** Approximate SQS counts. `waiting`: visible or in flight. `delayed`: sent for a later time. */
export type QueueDepth = { waiting: number; delayed: number };

/** Depth of the deployment's SQS queues. */
export interface QueueDepths {
  /** By queue name. @throws if a queue cannot be read */
  approximate(): Promise<Record<string, QueueDepth>>;
}
