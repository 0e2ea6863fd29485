import {
  applyToChunk,
  chunkHolds,
  type Chunk,
  type ChunkTransition,
  deliveryIn,
} from '../../shared/domain/delivery/chunk.ts';
import type { ChunkKey, Delivery, Transition } from '../../shared/domain/delivery/delivery.ts';
import { claimFor } from '../../shared/domain/delivery/claim.ts';
import { recordDelivered } from '../../shared/domain/delivery/transitions.ts';
import type { Chunks } from '../../shared/ports/deliveries.ts';
import type { Actor } from './history.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';

/** The access of the chunk store to separate delivery records. */
export type SeparateRecords = {
  has(delivery: Delivery): boolean;
  create(actor: Actor, delivery: Delivery, by: 'cancel' | 'send'): void;
  /** Counts one more match of the delivery's message, if that is possible. */
  countMatch(delivery: Delivery): boolean;
  /** Stores the state of a member without a separate record. */
  setMember(delivery: Delivery): void;
  /** Logs a chunk write for such a member as if it had been written to a separate record. */
  note(actor: Actor, transition: Transition, before: Delivery | undefined, after: Delivery): void;
};

/** The chunk records, using the domain's `chunkHolds` and `applyToChunk`. Expired records disappear at once. */
export const chunkStore = (time: VirtualClock, records: SeparateRecords): ((actor: Actor) => Chunks) => {
  const chunks = new Map<string, Chunk>();

  const find = (key: ChunkKey): Chunk | undefined => {
    const chunk = chunks.get(nameOf(key));
    return chunk !== undefined && chunk.expiresAt > time.now() ? chunk : undefined;
  };

  const write = (actor: Actor, transition: ChunkTransition): Chunk | undefined => {
    const before = find(transition.key);
    if (!chunkHolds(transition.expect, before)) return undefined;
    const after = applyToChunk(transition, before);
    chunks.set(nameOf(transition.key), after);
    for (const id of after.members?.keys() ?? []) noteMember(actor, id, before, after);
    return after;
  };

  const noteMember = (actor: Actor, id: string, before: Chunk | undefined, after: Chunk): void => {
    const was = before && deliveryIn(before, id);
    const is = deliveryIn(after, id);
    if (is === undefined || records.has(is)) return;
    records.setMember(is);
    if (was === undefined) records.note(actor, openingOf(is), undefined, is);
    else if (is.status !== was.status) records.note(actor, recordingOf(was, is, actor), was, is);
  };

  return (actor) => ({
    write: (transition) => {
      const chunk = write(actor, transition);
      return Promise.resolve(
        chunk === undefined ? { kind: 'refused', current: find(transition.key) } : { kind: 'written', chunk },
      );
    },
    find: (key) => Promise.resolve(find(key)),
    takeOut: (transition, delivery) => {
      if (records.has(delivery) || write(actor, transition) === undefined) return Promise.resolve('refused');
      records.create(actor, delivery, 'cancel');
      return Promise.resolve('taken_out');
    },
    add: (delivery, exclusion) => {
      const isFree = exclusion === undefined || chunkHolds(exclusion.expect, find(exclusion.key));
      if (records.has(delivery) || !isFree || !records.countMatch(delivery))
        return Promise.resolve('refused');
      if (exclusion !== undefined) write(actor, exclusion);
      records.create(actor, delivery, 'send');
      return Promise.resolve('added');
    },
  });
};

const nameOf = ({ messageId, bucket, chunk }: ChunkKey): string => `${messageId}/${bucket}/${chunk}`;

const openingOf = ({ key, acceptedAt, lease, updatedAt, expiresAt }: Delivery): Transition =>
  claimFor(
    {
      kind: 'job',
      key,
      attempt: 1,
      acceptedAt,
      body: { kind: 'stored', payloadKey: '' },
    },
    lease === undefined ? { kind: 'cancel', reason: 'manual' } : { kind: 'attempt', lease },
    { now: updatedAt, retentionMs: expiresAt - updatedAt },
  );

const recordingOf = (was: Delivery, is: Delivery, { owner }: Actor): Transition => {
  const attempt = is.attempts.at(-1);
  if (attempt === undefined) throw new RangeError('A chunk records nothing but attempts.');
  const at = { now: is.updatedAt, retentionMs: is.expiresAt - is.updatedAt };
  return recordDelivered({ delivery: was, owner, attempt }, at);
};
