import {
  applyToChunk,
  chunkHolds,
  type Chunk,
  type ChunkTransition,
  deliveryIn,
} from '../../../shared/domain/delivery/chunk.ts';
import type { ChunkKey, Delivery } from '../../../shared/domain/delivery/delivery.ts';
import type { Chunks } from '../../../shared/ports/deliveries.ts';
import type { InMemoryDeliveries } from './in-memory-deliveries.ts';
import { inMemoryMessageRecords, type InMemoryMessageRecords } from './in-memory-message-records.ts';

/** `deliveries`: those that have no separate record. */
export type InMemoryChunks = Chunks & { readonly deliveries: () => Delivery[] };

/** Chunk records in a Map, checked by the domain's `chunkHolds` and `applyToChunk`. */
export const inMemoryChunks = (
  own: InMemoryDeliveries,
  messages: Pick<InMemoryMessageRecords, 'countMatch'> = inMemoryMessageRecords(),
): InMemoryChunks => {
  const chunks = new Map<string, Chunk>();

  const write: Chunks['write'] = (transition) => {
    const current = chunks.get(nameOf(transition.key));
    if (!chunkHolds(transition.expect, current)) return Promise.resolve({ kind: 'refused', current });
    return Promise.resolve({ kind: 'written', chunk: kept(transition, current) });
  };

  const kept = (transition: ChunkTransition, current: Chunk | undefined): Chunk => {
    const chunk = applyToChunk(transition, current);
    chunks.set(nameOf(transition.key), chunk);
    return chunk;
  };

  const takeOut: Chunks['takeOut'] = async (transition, delivery) => {
    const current = chunks.get(nameOf(transition.key));
    if (!chunkHolds(transition.expect, current)) return 'refused';
    const { key } = delivery;
    if (own.records.has(own.identityOf(key))) return 'refused';
    kept(transition, current);
    await own.write({ name: 'open', key, expect: { kind: 'absent' }, create: delivery });
    return 'taken_out';
  };

  const add: Chunks['add'] = async (delivery, exclusion) => {
    const { key } = delivery;
    if (own.records.has(own.identityOf(key))) return 'refused';
    const current = exclusion && chunks.get(nameOf(exclusion.key));
    if (exclusion !== undefined && !chunkHolds(exclusion.expect, current)) return 'refused';
    if (!messages.countMatch(delivery)) return 'refused';
    if (exclusion !== undefined) kept(exclusion, current);
    await own.write({ name: 'send', key, expect: { kind: 'absent' }, create: delivery });
    return 'added';
  };

  return {
    write,
    takeOut,
    add,
    find: (key) => Promise.resolve(chunks.get(nameOf(key))),
    deliveries: () =>
      [...chunks.values()]
        .flatMap((chunk) => [...(chunk.members?.keys() ?? [])].flatMap((id) => deliveryIn(chunk, id) ?? []))
        .filter(({ key }) => !own.records.has(own.identityOf(key))),
  };
};

const nameOf = ({ queue, messageId, bucket, chunk }: ChunkKey): string =>
  [queue, messageId, bucket, chunk].join('#');
