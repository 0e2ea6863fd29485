import type { ChunkJob, DeliveryJob, FirstJob } from '../../shared/domain/delivery/job.ts';
import { bucketIn, chunkOf, chunksFor, type Buckets } from '../../shared/domain/delivery/fan-out.ts';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import type { ListedSubscription } from '../../shared/domain/subscription/subscription.ts';
import type { MessageRecord } from '../../shared/ports/messages.ts';

/** When the message was sent (milliseconds since the epoch), and its delay after acceptance. */
export type SendTiming = { sentAt: number | undefined; delayMs: number };

/**
 * Maximum number of separate deliveries per message. Every failure reads the message's record, so it must stay small.
 */
const MAX_APART = 25;

/**
 * How the deliveries of a message are divided into chunks. A job takes as long as its slowest delivery, so a failing
 * subscription gets a separate job.
 */
export function divideIntoChunks(
  matching: readonly ListedSubscription[],
  buckets: number,
  firstAttemptsPerJob: number,
  apartCount = 0,
): Pick<MessageRecord, 'chunks' | 'apart'> {
  const failing = matching.filter(({ failing }) => failing !== undefined);
  const apart = failing.slice(0, MAX_APART - apartCount).map(({ id }) => id);
  const chunks = chunksFor(matching.length - apart.length, buckets, firstAttemptsPerJob);
  if (chunks === undefined) return {};
  return { chunks, ...(apart.length === 0 ? {} : { apart }) };
}

/** Which bucket and chunk a delivery belongs to, from its message's record. */
export type DeliveryPlacement = Pick<MessageRecord, 'key' | 'acceptedAt' | 'apart' | 'retentionDays'> &
  Buckets;

/**
 * The jobs for a message's first attempts: one per chunk, and one per delivery outside the chunks. A subscription's
 * chunk never changes, so repeats with other matches use the same chunk.
 */
export function firstJobsFor(
  subscriptionIds: readonly string[],
  placement: DeliveryPlacement,
  body: BodyLocation,
  { sentAt, delayMs }: SendTiming,
): FirstJob[] {
  const { key, acceptedAt, chunks, apart = [], retentionDays } = placement;
  const common = {
    acceptedAt,
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(delayMs > 0 ? { dueAt: acceptedAt + delayMs } : {}),
    retentionDays,
    body,
  };
  const single = (subscriptionId: string): DeliveryJob => {
    const place = { ...key, subscriptionId, bucket: bucketIn(placement, subscriptionId) };
    return { kind: 'job', key: place, attempt: 1, ...common };
  };
  if (chunks === undefined) return subscriptionIds.map(single);
  const isApart = new Set(apart);
  const placed = Map.groupBy(
    subscriptionIds.filter((id) => !isApart.has(id)),
    (id) => bucketIn(placement, id) * chunks + chunkOf(id, chunks),
  );
  const chunkJobs = [...placed].map(([place, members]): ChunkJob => {
    const at = { ...key, bucket: Math.floor(place / chunks), chunk: place % chunks };
    return { kind: 'chunk', key: at, subscriptionIds: members, ...common };
  });
  return [...chunkJobs, ...subscriptionIds.filter((id) => isApart.has(id)).map(single)];
}
