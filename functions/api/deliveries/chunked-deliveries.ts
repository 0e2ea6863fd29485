import { contended, withRetriedWrites } from '../../../shared/domain/contention.ts';
import {
  type Chunk,
  type ChunkTransition,
  deliveryIn,
  isSuccess,
  removeMember,
  removeMemberBeforeClaim,
} from '../../../shared/domain/delivery/chunk.ts';
import {
  type ChunkKey,
  type Creation,
  type Delivery,
  type DeliveryKey,
  nameOfDelivery,
  type Transition,
} from '../../../shared/domain/delivery/delivery.ts';
import type { Chunks, Deliveries, NamedDeliveries, WriteResult } from '../../../shared/ports/deliveries.ts';

type Records = { deliveries: Deliveries; chunks: Chunks };

/**
 * The deliveries port for callers that name a delivery: finds it in a separate record or in its chunk. Before a change,
 * it moves a delivery in a chunk to a separate record in one transaction, so that none is stored twice.
 */
export function chunkedDeliveries(records: Records): NamedDeliveries {
  const { deliveries } = records;
  return {
    find: async (key) => (await deliveries.find(key)) ?? (await findInChunk(records, key)),
    write: (transition) =>
      transition.key.chunk === undefined
        ? deliveries.write(transition)
        : writeTransition(records, transition),
    add: (delivery) => addDelivery(records, delivery),
    overdue: (before, limit) => deliveries.overdue(before, limit),
    waiting: (subscription, before, limit) => deliveries.waiting(subscription, before, limit),
  };
}

function writeTransition(records: Records, transition: Transition): Promise<WriteResult> {
  return withRetriedWrites(
    () => ('create' in transition ? createRecord(records, transition) : updateRecord(records, transition)),
    contended(nameOfDelivery(transition.key)),
  );
}

async function updateRecord(records: Records, transition: Transition): Promise<WriteResult | 'again'> {
  const result = await records.deliveries.write(transition);
  if (result.kind === 'written' || result.current !== undefined) return result;
  const found = await readChunk(records, transition.key);
  if (found?.delivery === undefined) return result;
  const { chunk, delivery } = found;
  const { subscriptionId } = delivery.key;
  const state = chunk.members?.get(subscriptionId);
  const removal = removeMember(chunk.key, subscriptionId, isSuccess(state) ? state : 'pending', delivery);
  await records.chunks.takeOut(removal, delivery);
  return 'again';
}

function createRecord(records: Records, transition: Creation): Promise<WriteResult | 'again'> {
  const { deliveries, chunks } = records;
  const { create } = transition;
  return createOnce(records, create, async (exclusion) => {
    if (exclusion === undefined) return deliveries.write(transition);
    const isWritten = (await chunks.takeOut(exclusion, create)) === 'taken_out';
    return isWritten ? { kind: 'written', delivery: create } : 'again';
  });
}

function addDelivery(records: Records, delivery: Delivery): Promise<WriteResult> {
  const add = (): Promise<WriteResult | 'again'> =>
    createOnce(records, delivery, async (exclusion) =>
      (await records.chunks.add(delivery, exclusion)) === 'added' ? { kind: 'written', delivery } : 'again',
    );
  return withRetriedWrites(add, contended(nameOfDelivery(delivery.key)));
}

/**
 * Creates a separate record unless the delivery exists. `exclusion`: marks that in its chunk if the chunk is not
 * claimed yet; the claim then skips it.
 */
async function createOnce(
  records: Records,
  delivery: Delivery,
  create: (exclusion: ChunkTransition | undefined) => Promise<WriteResult | 'again'>,
): Promise<WriteResult | 'again'> {
  const { key } = delivery;
  const current = await records.deliveries.find(key);
  if (current !== undefined) return { kind: 'refused', current };
  const found = await readChunk(records, key);
  if (found?.delivery !== undefined) return { kind: 'refused', current: found.delivery };
  const place = toChunkKey(key);
  return create(
    place === undefined || found?.chunk.members !== undefined
      ? undefined
      : removeMemberBeforeClaim(place, key.subscriptionId, delivery),
  );
}

/** Reads the separate record again, because the delivery may have left its chunk since the first read. */
async function findInChunk(records: Records, key: DeliveryKey): Promise<Delivery | undefined> {
  const found = await readChunk(records, key);
  return found && (found.delivery ?? (await records.deliveries.find(key)));
}

async function readChunk(
  { chunks }: Records,
  key: DeliveryKey,
): Promise<{ chunk: Chunk; delivery: Delivery | undefined } | undefined> {
  const place = toChunkKey(key);
  const chunk = place && (await chunks.find(place));
  if (chunk === undefined) return undefined;
  const delivery = deliveryIn(chunk, key.subscriptionId);
  return { chunk, delivery: delivery && { ...delivery, key } };
}

function toChunkKey({ queue, messageId, bucket, chunk }: DeliveryKey): ChunkKey | undefined {
  return chunk === undefined ? undefined : { queue, messageId, bucket, chunk };
}
