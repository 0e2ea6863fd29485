import type { AttemptTrigger } from '../vocabulary.ts';
import { memberKeyOf, type ChunkKey, type DeliveryKey } from './delivery.ts';
import type { BodyLocation } from '../message/body.ts';

/** What orders for first attempts have in common. Times are milliseconds since the epoch. */
type FirstAttempts = {
  acceptedAt: number;
  /** When its message was sent to the ingress queue. */
  sentAt?: number;
  /** The message's own delay, if any. */
  dueAt?: number;
  body: BodyLocation;
};

/** The order for the first attempts of several deliveries of a message, made side by side. */
export type ChunkJob = FirstAttempts & { kind: 'chunk'; key: ChunkKey; subscriptionIds: readonly string[] };

/** The order for one first attempt. `lost`: how often somebody who was to make it did not come back. */
export type DeliveryJob = FirstAttempts & { kind: 'job'; key: DeliveryKey; attempt: 1; lost?: number };

/** What the delivery queue carries. */
export type FirstJob = ChunkJob | DeliveryJob;

/** The order for the first attempt of one member of a chunk. */
export function jobOfMember(
  { key, acceptedAt, sentAt, dueAt, body }: ChunkJob,
  subscriptionId: string,
): DeliveryJob {
  return {
    kind: 'job',
    key: memberKeyOf(key, subscriptionId),
    attempt: 1,
    acceptedAt,
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(dueAt === undefined ? {} : { dueAt }),
    body,
  };
}

/** A hint that an attempt may be due. The record decides. */
export type WakeUp = {
  kind: 'wake_up';
  key: DeliveryKey;
  attempt: number;
  dueAt: number;
  /** What sent it, for the record of the attempt; a hop by SQS on the way changes nothing about it. */
  by?: AttemptTrigger;
};

/** Whose share of a fair queue it counts to: whoever has many there waits longer, and not the others. */
export function groupOf(work: FirstJob | WakeUp): string {
  return work.kind === 'chunk' ? work.key.queue : work.key.subscriptionId;
}
