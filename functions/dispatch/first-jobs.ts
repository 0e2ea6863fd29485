import type { ChunkJob, DeliveryJob, FirstJob } from '../../shared/domain/delivery/job.ts';
import { bucketIn, chunkOf, chunksFor, type Buckets } from '../../shared/domain/delivery/fan-out.ts';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import type { ListedSubscription } from '../../shared/domain/subscription/subscription.ts';
import type { MessageRecord } from '../../shared/ports/messages.ts';

/** When the message was sent, in milliseconds since the epoch, and how long after its acceptance it is due. */
export type SendTiming = { sentAt: number | undefined; delayMs: number };

/** A message's record is read with every failure of its deliveries, so it must stay small however many fail. */
const MOST_APART = 25;

/**
 * How the deliveries of a message are divided into chunks. A job ends with the slowest of its deliveries, so a failing
 * subscription, which may take all the time there is, gets a job of its own instead of holding up the others.
 */
export function divideIntoChunks(
  matching: readonly ListedSubscription[],
  buckets: number,
  firstAttemptsPerJob: number,
  apartAlready = 0,
): Pick<MessageRecord, 'chunks' | 'apart'> {
  const failing = matching.filter(({ failing }) => failing !== undefined);
  const apart = failing.slice(0, MOST_APART - apartAlready).map(({ id }) => id);
  const chunks = chunksFor(matching.length - apart.length, buckets, firstAttemptsPerJob);
  if (chunks === undefined) return {};
  return { chunks, ...(apart.length === 0 ? {} : { apart }) };
}

/** Where deliveries are, as the record of their message says. */
export type RecordedPlaces = Pick<MessageRecord, 'key' | 'acceptedAt' | 'apart'> & Buckets;

/**
 * The jobs for the first attempts of a message: one for each chunk, as its record says, and one for each delivery that is in
 * none. A subscription stays in its chunk for ever, whichever others match: a repeat that finds others sends it in the same one.
 */
export function firstJobsFor(
  subscriptionIds: readonly string[],
  placing: RecordedPlaces,
  body: BodyLocation,
  { sentAt, delayMs }: SendTiming,
): FirstJob[] {
  const { key, acceptedAt, chunks, apart = [] } = placing;
  const order = {
    acceptedAt,
    ...(sentAt === undefined ? {} : { sentAt }),
    ...(delayMs > 0 ? { dueAt: acceptedAt + delayMs } : {}),
    body,
  };
  const single = (subscriptionId: string): DeliveryJob => {
    const place = { ...key, subscriptionId, bucket: bucketIn(placing, subscriptionId) };
    return { kind: 'job', key: place, attempt: 1, ...order };
  };
  if (chunks === undefined) return subscriptionIds.map(single);
  const isApart = new Set(apart);
  const placed = Map.groupBy(
    subscriptionIds.filter((id) => !isApart.has(id)),
    (id) => bucketIn(placing, id) * chunks + chunkOf(id, chunks),
  );
  const together = [...placed].map(([place, members]): ChunkJob => {
    const at = { ...key, bucket: Math.floor(place / chunks), chunk: place % chunks };
    return { kind: 'chunk', key: at, subscriptionIds: members, ...order };
  });
  return [...together, ...subscriptionIds.filter((id) => isApart.has(id)).map(single)];
}
