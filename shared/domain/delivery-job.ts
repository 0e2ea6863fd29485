import type { DeliveryKey } from './delivery.ts';
import type { Message } from './message.ts';

/** The message inside a job, or where dispatch put it. */
export type JobBody = { kind: 'inline'; message: Message } | { kind: 'stored'; payloadKey: string };

/** dispatch's order for a first attempt. Times are milliseconds since the epoch. */
export type DeliveryJob = {
  kind: 'job';
  key: DeliveryKey;
  attempt: 1;
  acceptedAt: number;
  /** The message's own delay, if any. */
  dueAt?: number;
  body: JobBody;
};

/** A hint that an attempt may be due. The record decides. */
export type WakeUp = {
  kind: 'wake_up';
  key: DeliveryKey;
  attempt: number;
  dueAt: number;
};
