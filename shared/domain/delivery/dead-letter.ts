import type { BodyLocation } from '../message/body.ts';
import type { Delivery } from './delivery.ts';
import type { WorkQueueName } from '../work-queues.ts';

/** An attribute of an SQS message, of any SQS data type. */
export type DeadLetterAttribute = { type: string; text: string } | { type: string; bytes: Uint8Array };

export type DeadLetterAttributes = Readonly<Record<string, DeadLetterAttribute>>;

/** A message in a dead-letter queue. */
export type DeadLetter = {
  /** SQS message id; unchanged if SQS moved the message here. */
  id: string;
  /**
   * Milliseconds since the epoch: the original send time if SQS moved the message here (SQS developer guide,
   * "Understanding message retention periods for dead-letter queues"); otherwise the time of dead-lettering.
   */
  sentAt: number;
  /** SQS receipt handle, needed to delete or release the message. */
  receipt: string;
  body: string;
  attributes: DeadLetterAttributes;
  /** Message group of a fair queue. */
  group?: string;
  /** Times SQS handed it out, approximately. */
  receives?: number;
};

export type ReceivedDeadLetter = Pick<DeadLetter, 'id' | 'receipt'>;

/** A dead letter to be sent back to a queue. */
export type RedrivenMessage = { to: WorkQueueName } & Pick<DeadLetter, 'body' | 'attributes' | 'group'>;

/**
 * Whether a dead letter can be redriven. `identity` stays the same if it is dead-lettered again, unlike the SQS id.
 * `skip`: redriving it would not help.
 */
export type DeadLetterReading<Message = RedrivenMessage> =
  | { kind: 'redrive'; message: Message; identity: string }
  | { kind: 'skip'; reason: string };

/**
 * Result of a redrive. `settled`: no longer needed; removed like a redriven one. `refused`: not possible; it stays.
 */
export type RedriveOutcome = { kind: 'redriven' } | { kind: 'settled' | 'refused'; reason: string };

/** A message of the undeliverable queue: the ended delivery and its body. */
export type UndeliverableNotice = {
  delivery: Delivery;
  /** Absent if it was erased or has expired. */
  body?: BodyLocation;
};
