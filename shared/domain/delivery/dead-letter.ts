import type { BodyLocation } from '../message/body.ts';
import type { Delivery } from './delivery.ts';
import type { WorkQueueName } from '../vocabulary.ts';

/** An attribute of an SQS message, of whatever type its sender gave it. */
export type DeadLetterAttribute = { type: string; text: string } | { type: string; bytes: Uint8Array };

export type DeadLetterAttributes = Readonly<Record<string, DeadLetterAttribute>>;

/** A message on one of the dead-letter queues. */
export type DeadLetter = {
  /** SQS's message id. One that SQS moved here has kept the id of its first life. */
  id: string;
  /**
   * Milliseconds since the epoch. One that SQS moved here has kept the time at which it was first sent (SQS developer
   * guide, "Understanding message retention periods for dead-letter queues"); one that we sent has the time at which we sent it here.
   */
  sentAt: number;
  /** What SQS wants to hear to delete or release it. */
  receipt: string;
  body: string;
  attributes: DeadLetterAttributes;
  /** Of a fair queue. */
  group?: string;
};

export type ReceivedDeadLetter = Pick<DeadLetter, 'id' | 'receipt'>;

/** A dead letter on its way back. */
export type RedrivenMessage = {
  to: WorkQueueName;
  body: string;
  attributes: DeadLetterAttributes;
  group?: string;
};

/**
 * What can be done with a letter. `identity` stays the same should it become a dead letter again, which SQS's id does
 * not. `skip`: bringing it back would do no good.
 */
export type DeadLetterReading<Message = RedrivenMessage> =
  { kind: 'redrive'; message: Message; identity: string } | { kind: 'skip'; reason: string };

/**
 * What came of bringing a letter back. `settled`: nothing is left to do about it, and it is removed as well; `refused`: it
 * cannot be done, and it stays.
 */
export type RedriveOutcome = { kind: 'redriven' } | { kind: 'settled' | 'refused'; reason: string };

/** What the undeliverable queue holds: the delivery as it ended, and its message. */
export type UndeliverableNotice = {
  delivery: Delivery;
  /** Absent where it was erased or has expired. */
  body?: BodyLocation;
};
