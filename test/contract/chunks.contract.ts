import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyToChunk,
  chunkHolds,
  type Chunk,
  type ChunkTransition,
  dissolveChunk,
  claimChunk,
  recordSuccesses,
  removeMember,
  removeMemberBeforeClaim,
  deliveryIn,
} from '../../shared/domain/delivery/chunk.ts';
import type { ChunkKey, Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { ChunkResult, Chunks, Deliveries } from '../../shared/ports/deliveries.ts';
import { arbitraryStep, firstOf, transitionOf } from '../support/chunk-arbitraries.ts';
import { aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../support/chunk-builders.ts';
import { aDelivery, aDeliveryKey, SOME_TIME, type DeliveryFields } from '../support/delivery-builders.ts';

export type ChunksUnderTest = { chunks: Chunks; deliveries: Deliveries };

const at = { now: SOME_TIME, retentionMs: RETENTION_MS };
const MEMBERS = ['-b', '_c', '0d', '12', 'a'];

const claimOf = (key: ChunkKey, owner = HOLDER.owner, members: readonly string[] = MEMBERS) =>
  claimChunk(key, { acceptedAt: SOME_TIME - 5, members, lease: { ...HOLDER, owner } }, at);

const successes = (...ids: readonly string[]) => new Map(ids.map((id) => [id, aFirstSuccess()]));

const memberOf = (
  { queue, messageId, bucket }: ChunkKey,
  subscriptionId: string,
  more: DeliveryFields = {},
) => aDelivery({ key: aDeliveryKey({ queue, messageId, bucket, subscriptionId }), ...more });

/** The expected state of one chunk and of the separate records of its deliveries, computed by the domain. */
const chunkModel = () => {
  let chunk: Chunk | undefined;
  const own = new Map<string, Delivery>();
  return {
    chunk: () => chunk,
    own: () => own.values(),
    write: (transition: ChunkTransition): ChunkResult => {
      if (!chunkHolds(transition.expect, chunk)) return { kind: 'refused', current: chunk };
      chunk = applyToChunk(transition, chunk);
      return { kind: 'written', chunk };
    },
    takeOut: (transition: ChunkTransition, delivery: Delivery): 'taken_out' | 'refused' => {
      const { subscriptionId } = delivery.key;
      if (own.has(subscriptionId) || !chunkHolds(transition.expect, chunk)) return 'refused';
      chunk = applyToChunk(transition, chunk);
      own.set(subscriptionId, delivery);
      return 'taken_out';
    },
  };
};

/** Contract of chunk stores: a conditional write behaves like domain `chunkHolds` and `applyToChunk`. */
export const describeChunksContract = (name: string, make: () => ChunksUnderTest): void => {
  describe(`chunks ${name}`, () => {
    const claimed = async () => {
      const { chunks, deliveries } = make();
      const key = aChunkKey();
      const result = await chunks.write(claimOf(key));
      if (result.kind === 'refused') throw new Error('the claim was refused');
      return { chunks, deliveries, key, chunk: result.chunk };
    };

    it('finds nothing before the first write', async () => {
      expect(await make().chunks.find(aChunkKey())).toBeUndefined();
    });

    it('finds the complete chunk after a claim', async () => {
      const { chunks, key, chunk } = await claimed();
      expect(await chunks.find(key)).toEqual(chunk);
      expect(chunk).toEqual(applyToChunk(claimOf(key), undefined));
    });

    it('distinguishes chunks that differ in one part of their key', async () => {
      const { chunks, key } = await claimed();
      for (const other of [
        { queue: 'other' },
        { messageId: 'other' },
        { bucket: 1 },
        { chunk: 1 },
        { chunk: 10 },
      ])
        expect(await chunks.find({ ...key, ...other })).toBeUndefined();
    });

    it('gives the claim to one of fifty callers and returns its chunk to the others', async () => {
      const { chunks } = make();
      const key = aChunkKey();
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, racer) =>
          chunks.write(claimOf(key, `racer-${racer}`, [`s-${racer}`])),
        ),
      );
      const chunk = await chunks.find(key);
      expect(results.filter(({ kind }) => kind === 'written')).toEqual([{ kind: 'written', chunk }]);
      expect(results.filter(({ kind }) => kind === 'refused')).toEqual(
        Array.from({ length: 49 }, () => ({ kind: 'refused', current: chunk })),
      );
    });

    it('loses no success when several are recorded concurrently', async () => {
      const { chunks, key } = await claimed();
      const results = await Promise.all(
        MEMBERS.map((id) =>
          chunks.write(
            recordSuccesses(key, HOLDER.owner, { successes: successes(id), separate: [], ends: false }, at),
          ),
        ),
      );
      expect(results.map(({ kind }) => kind)).toEqual(MEMBERS.map(() => 'written'));
      expect((await chunks.find(key))?.members).toEqual(successes(...MEMBERS));
    });

    it('returns the same results as the domain for random sequences of steps', async () => {
      const { chunks, deliveries } = make();
      const steps = fc.array(arbitraryStep, { minLength: 1, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(steps, async (sequence) => {
          const key = aChunkKey();
          const model = chunkModel();
          for (const [index, step] of sequence.entries()) {
            const transition = transitionOf(step, { key, current: model.chunk(), now: SOME_TIME + index });
            const isTakingOut = step.kind === 'take_out' || step.kind === 'take_out_early';
            const delivery = memberOf(key, firstOf(step), { acceptedAt: SOME_TIME + index });
            const result = isTakingOut
              ? await chunks.takeOut(transition, delivery)
              : await chunks.write(transition);
            expect(result).toEqual(
              isTakingOut ? model.takeOut(transition, delivery) : model.write(transition),
            );
          }
          expect(await chunks.find(key)).toEqual(model.chunk());
          for (const delivery of model.own()) expect(await deliveries.find(delivery.key)).toEqual(delivery);
        }),
        { numRuns: 30 },
      );
    });

    describe('taking a delivery out of its chunk', () => {
      it('creates a separate record and marks the member in the chunk', async () => {
        const { chunks, deliveries, key, chunk } = await claimed();
        const delivery = deliveryIn(chunk, '-b') ?? aDelivery();
        expect(await chunks.takeOut(removeMember(key, '-b', 'pending', delivery), delivery)).toBe(
          'taken_out',
        );
        expect((await chunks.find(key))?.members?.get('-b')).toBe('separate');
        expect(await deliveries.find(delivery.key)).toEqual(delivery);
      });

      it('is refused if the chunk already has another state for the member', async () => {
        const { chunks, deliveries, key, chunk } = await claimed();
        const written = { successes: successes('a'), separate: [], ends: false };
        await chunks.write(recordSuccesses(key, HOLDER.owner, written, at));
        const delivery = deliveryIn(chunk, 'a') ?? aDelivery();
        expect(await chunks.takeOut(removeMember(key, 'a', 'pending', delivery), delivery)).toBe('refused');
        expect((await chunks.find(key))?.members?.get('a')).toEqual(aFirstSuccess());
        expect(await deliveries.find(delivery.key)).toBeUndefined();
      });

      it('is refused if the delivery already has a separate record', async () => {
        const { chunks, deliveries, key } = await claimed();
        const there = memberOf(key, 'a', { status: 'retrying' });
        await deliveries.write({ name: 'record', key: there.key, expect: { kind: 'absent' }, create: there });
        const delivery = memberOf(key, 'a');
        expect(await chunks.takeOut(removeMember(key, 'a', 'pending', delivery), delivery)).toBe('refused');
        expect((await chunks.find(key))?.members?.get('a')).toBe('pending');
        expect(await deliveries.find(delivery.key)).toEqual(there);
      });

      it('is refused before the claim if the chunk is already claimed, and otherwise allowed', async () => {
        const { chunks, deliveries, key } = await claimed();
        const delivery = memberOf(key, 'a', { status: 'cancelled' });
        expect(await chunks.takeOut(removeMemberBeforeClaim(key, 'a', delivery), delivery)).toBe('refused');
        expect(await deliveries.find(delivery.key)).toBeUndefined();
        const other = aChunkKey();
        for (const id of ['a', '12']) {
          const early = memberOf(other, id, { status: 'cancelled' });
          expect(await chunks.takeOut(removeMemberBeforeClaim(other, id, early), early)).toBe('taken_out');
          expect(await deliveries.find(early.key)).toEqual(early);
        }
        expect((await chunks.find(other))?.excluded).toEqual(new Set(['a', '12']));
        const result = await chunks.write(claimOf(other));
        expect(result).toMatchObject({ kind: 'written', chunk: { excluded: new Set(['a', '12']) } });
      });

      it('succeeds for one of twenty concurrent callers', async () => {
        const { chunks, key } = await claimed();
        const results = await Promise.all(
          Array.from({ length: 20 }, (_, index) => {
            const delivery = memberOf(key, 'a', { acceptedAt: SOME_TIME + index });
            return chunks.takeOut(removeMember(key, 'a', 'pending', delivery), delivery);
          }),
        );
        expect(results.filter((result) => result === 'taken_out')).toHaveLength(1);
      });

      it('makes the chunk refuse a later record of the success of the member', async () => {
        const { chunks, key } = await claimed();
        const delivery = memberOf(key, 'a');
        await chunks.takeOut(removeMember(key, 'a', 'pending', delivery), delivery);
        const recorded = { successes: successes('a', '12'), separate: [], ends: true };
        const result = await chunks.write(recordSuccesses(key, HOLDER.owner, recorded, at));
        expect(result).toMatchObject({ kind: 'refused', current: { lease: HOLDER } });
        expect((await chunks.find(key))?.members?.get('12')).toBe('pending');
      });
    });

    it('ends a lease once, and returns the current chunk to later callers', async () => {
      const { chunks, key } = await claimed();
      const results = await Promise.all([1, 2, 3].map(() => chunks.write(dissolveChunk(key, HOLDER, at))));
      expect(results.filter(({ kind }) => kind === 'written')).toHaveLength(1);
      const [refused] = results.filter((result) => result.kind === 'refused');
      expect(refused?.current).toEqual(await chunks.find(key));
      expect(refused?.current?.lease).toBeUndefined();
    });
  });
};
