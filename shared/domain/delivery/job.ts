import type { AttemptTrigger } from './vocabulary.ts';
import { toMemberKey, type ChunkKey, type DeliveryKey } from './delivery.ts';
import type { BodyLocation } from '../message/body.ts';
import type { Retained } from '../retention.ts';

/** Common fields of first-attempt jobs. Times are milliseconds since the epoch. */
type FirstAttemptFields = Retained & {
  acceptedAt: number;
  /** When its message was sent to the ingress queue. */
  sentAt?: number;
  /** Start time if the message has a delay. */
  dueAt?: number;
  body: BodyLocation;
};

/** Job for the concurrent first attempts of several deliveries of a message. */
export type ChunkJob = FirstAttemptFields & {
  kind: 'chunk';
  key: ChunkKey;
  subscriptionIds: readonly string[];
};

/**
 * Job for one first attempt. `lost`: invocations that started it and did not finish. `isTest`: an operator tries the
 * subscription now, in spite of a pause.
 */
export type DeliveryJob = FirstAttemptFields & {
  kind: 'job';
  key: DeliveryKey;
  attempt: 1;
  lost?: number;
  isTest?: true;
};

/** A message of the delivery queue. */
export type FirstJob = ChunkJob | DeliveryJob;

/** Job for the first attempt of one chunk member. */
export function jobOfMember(
  { key, acceptedAt, sentAt, dueAt, body, retentionDays }: ChunkJob,
  subscriptionId: string,
): DeliveryJob {
  return {
    kind: 'job',
    key: toMemberKey(key, subscriptionId),
    attempt: 1,
    acceptedAt,
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(dueAt === undefined ? {} : { dueAt }),
    retentionDays,
    body,
  };
}

/** A hint that an attempt may be due; the record decides. */
export type WakeUp = {
  kind: 'wake_up';
  key: DeliveryKey;
  attempt: number;
  dueAt: number;
  /** How the attempt is started, for its record; unchanged by extra SQS delays. */
  by?: AttemptTrigger;
  /** An operator asks for this one request now: it does not wait for back-pressure. */
  isUrgent?: true;
};

/** Message group in a fair queue: a group with a backlog waits longer and does not delay other groups. */
export function groupOf(work: FirstJob | WakeUp): string {
  return work.kind === 'chunk' ? work.key.queue : work.key.subscriptionId;
}
