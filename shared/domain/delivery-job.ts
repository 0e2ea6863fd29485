import type { BroughtBy } from './attempt.ts';
import type { DeliveryKey } from './delivery.ts';
import type { MessageBody } from './message-body.ts';

/** dispatch's order for a first attempt. Times are milliseconds since the epoch. */
export type DeliveryJob = {
  kind: 'job';
  key: DeliveryKey;
  attempt: 1;
  acceptedAt: number;
  /** When its message was sent to the ingress queue. */
  sentAt?: number;
  /** The message's own delay, if any. */
  dueAt?: number;
  body: MessageBody;
};

/** A hint that an attempt may be due. The record decides. */
export type WakeUp = {
  kind: 'wake_up';
  key: DeliveryKey;
  attempt: number;
  dueAt: number;
  /** What sent it, for the record of the attempt; a hop by SQS on the way changes nothing about it. */
  by?: BroughtBy;
};
