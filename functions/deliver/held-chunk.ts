import { isSuccess, pendingIn, type Chunk, type FirstSuccess } from '../../shared/domain/delivery/chunk.ts';
import { recordSuccesses } from '../../shared/domain/delivery/chunk-changes.ts';
import { deliveryIn, firstSuccessOf } from '../../shared/domain/delivery/chunk-members.ts';
import { apply, type Delivery, type Transition } from '../../shared/domain/delivery/delivery.ts';
import type { Deliveries, WriteResult } from '../../shared/ports/deliveries.ts';
import type { DeliverContext } from './context.ts';
import { momentOf } from '../../shared/steps/moment.ts';

/**
 * How long a success waits for others to be recorded with: as long as a crash may cost a request more than without. Long
 * enough that subscribers of like speed share a write, of which each is a price.
 */
const GATHERING_MS = 250;

type Revision = Exclude<Transition, { create: Delivery }>;

/** A first success on its way to the record. */
type Waiting = {
  id: string;
  transition: Revision;
  success: FirstSuccess;
  resolve: (result: WriteResult) => void;
  reject: (error: unknown) => void;
};

/**
 * The records of a chunk's members, for the one who holds its lease. To enter a pending member takes no write, because the
 * claim of the chunk was that. Successes at once are recorded together, as soon as no other member is left or after a short
 * while; everything else gives the delivery a record of its own, which must not be there yet.
 */
export function heldChunk(context: DeliverContext, chunk: Chunk, owner: string): Deliveries {
  const { deliveries, chunks, clock } = context.ports;
  /** Members of which nothing is on record but the claim. */
  const held = new Map(
    pendingIn(chunk).flatMap((id) => {
      const delivery = deliveryIn(chunk, id);
      return delivery === undefined ? [] : [[id, delivery] as const];
    }),
  );
  const own: string[] = [];
  let waiting: Waiting[] = [];
  let isWriting = false;
  let isTimed = false;

  const lookAfterWaiting = (): void => {
    if (waiting.length === 0 || isWriting) return;
    if (waiting.length === held.size) void writeWaiting();
    else if (!isTimed) void writeAfterAWhile();
  };

  const writeAfterAWhile = async (): Promise<void> => {
    isTimed = true;
    await clock.sleep(GATHERING_MS);
    isTimed = false;
    if (waiting.length > 0 && !isWriting) void writeWaiting();
  };

  const writeWaiting = async (): Promise<void> => {
    const batch = waiting;
    waiting = [];
    isWriting = true;
    try {
      await recordTogether(batch);
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      isWriting = false;
      lookAfterWaiting();
    }
  };

  const recordTogether = async (batch: readonly Waiting[]): Promise<void> => {
    const successes = new Map(batch.map(({ id, success }) => [id, success]));
    const recorded = { successes, own: [...own], ends: batch.length === held.size };
    const result = await chunks.write(recordSuccesses(chunk.key, owner, recorded, momentOf(context)));
    const standings = result.kind === 'written' ? undefined : result.current?.members;
    for (const one of batch) {
      const there = standings?.get(one.id);
      // Refused by what it wrote itself, sent twice.
      const isOurs = isSuccess(there) && there.startedAt === one.success.startedAt;
      if (result.kind === 'written' || isOurs) one.resolve(recordedInChunk(one));
      else onItsOwn(one.transition).then(one.resolve, one.reject);
    }
  };

  const recordedInChunk = ({ id, transition }: Waiting): WriteResult => {
    const before = held.get(id);
    held.delete(id);
    return before === undefined
      ? { kind: 'refused', current: undefined }
      : { kind: 'written', delivery: apply(transition.change, before) };
  };

  const gathered = (id: string, transition: Revision, success: FirstSuccess): Promise<WriteResult> =>
    new Promise((resolve, reject) => {
      waiting.push({ id, transition, success, resolve, reject });
      lookAfterWaiting();
    });

  /** Whoever gave it a record by hand meanwhile left our lease on it, or ended it: then that record decides. */
  const onItsOwn = async (transition: Transition): Promise<WriteResult> => {
    const { key, name } = transition;
    const create = createdBy(transition, held.get(key.subscriptionId));
    if (create === undefined) return deliveries.write(transition);
    const result = await deliveries.write({ name, key, expect: { kind: 'absent' }, create });
    held.delete(key.subscriptionId);
    own.push(key.subscriptionId);
    lookAfterWaiting();
    return result.kind === 'refused' && 'change' in transition ? deliveries.write(transition) : result;
  };

  const write = (transition: Transition): Promise<WriteResult> => {
    const { subscriptionId } = transition.key;
    const delivery = held.get(subscriptionId);
    if (delivery === undefined) return deliveries.write(transition);
    if (transition.name === 'open') return Promise.resolve({ kind: 'written', delivery });
    const success = firstSuccessOf(transition);
    return success === undefined || 'create' in transition
      ? onItsOwn(transition)
      : gathered(subscriptionId, transition, success);
  };

  return {
    write,
    find: (key) => deliveries.find(key),
    overdue: (before, limit) => deliveries.overdue(before, limit),
  };
}

/** The record of its own that a member gets by a transition. */
function createdBy(transition: Transition, before: Delivery | undefined): Delivery | undefined {
  return 'create' in transition ? transition.create : before && apply(transition.change, before);
}
