import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyToChunk,
  type Chunk,
  chunkHolds,
  type ChunkTransition,
} from '../../shared/domain/delivery/chunk.ts';
import type { ChunkKey, Delivery } from '../../shared/domain/delivery/delivery.ts';
import { deliveryByHand } from '../../shared/domain/delivery/interventions.ts';
import type { Status } from '../../shared/domain/delivery/vocabulary.ts';
import type { ChunkResult, Chunks, Deliveries, DeliveryListings } from '../../shared/ports/deliveries.ts';
import type { MessageRecord, MessageRecords } from '../../shared/ports/messages.ts';
import { arbitraryStep, firstOf, transitionOf } from '../support/delivery-arbitraries.ts';
import { aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../support/chunk-builders.ts';
import { aDelivery, aDeliveryKey, type DeliveryFields, SOME_TIME } from '../support/delivery-builders.ts';
import { createAll, creation } from './delivery-cases.ts';
import { aRecord } from './message-records.contract.ts';
import {
  claimChunk,
  dissolveChunk,
  recordSuccesses,
  removeMember,
  removeMemberBeforeClaim,
  deliveryIn,
} from '../../shared/domain/delivery/chunk.ts';

type ChunksUnderTest = { chunks: Chunks; deliveries: Deliveries };

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
const describeWrites = (name: string, make: () => ChunksUnderTest): void => {
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
        await deliveries.write(creation(there));
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

type ListedChunks = ChunksUnderTest & { listings: DeliveryListings };

/**
 * Contract of listings for a message with chunks: each delivery appears once, from the record that takes
 * precedence.
 */
const describeListings = (name: string, make: () => ListedChunks): void => {
  describe(`the deliveries of a message in chunks ${name}`, () => {
    /** Two buckets, the first with two chunks. Some members also have separate records. */
    const spread = async () => {
      const { chunks, deliveries, listings } = make();
      const message = { queue: 'orders.eu-1', messageId: randomUUID() };
      const place = (bucket: number, chunk: number): ChunkKey => ({ ...message, bucket, chunk });
      const ownOf = (bucket: number, subscriptionId: string, status: Status): Delivery =>
        aDelivery({ key: aDeliveryKey({ ...message, bucket, subscriptionId }), status });
      const own = [
        ownOf(0, 'Z-before-all', 'exhausted'),
        // The chunk shows this member as pending, and the next one as separate.
        ownOf(0, 'e', 'retrying'),
        ownOf(0, 'f', 'rejected'),
        ownOf(0, 'h', 'cancelled'),
        ownOf(0, 'zz', 'retrying'),
        ownOf(1, '-x', 'cancelled'),
      ];
      const early = ownOf(0, 'c', 'cancelled');
      await chunks.takeOut(removeMemberBeforeClaim(place(0, 0), 'c', early), early);
      const written: Chunk[] = [];
      const write = async (key: ChunkKey, members: readonly string[], delivered: readonly string[]) => {
        const successes = new Map(delivered.map((id) => [id, aFirstSuccess()]));
        await chunks.write(claimChunk(key, { acceptedAt: SOME_TIME, members, lease: HOLDER }, at));
        const result = await chunks.write(
          recordSuccesses(
            key,
            HOLDER.owner,
            { successes, separate: members.includes('f') ? ['f'] : [], ends: false },
            at,
          ),
        );
        if (result.kind === 'written') written.push(result.chunk);
      };
      await write(place(0, 0), ['a', 'c', 'e', 'g'], ['a', 'g']);
      await write(place(0, 1), ['_b', '0d', 'f'], ['0d']);
      await write(place(1, 0), ['i', 'k'], ['i', 'k']);
      await createAll(deliveries, [
        ...own,
        aDelivery(),
        aDelivery({ key: aDeliveryKey({ queue: 'other' }) }),
      ]);
      const inChunks = written.flatMap((chunk) =>
        [...(chunk.members?.keys() ?? [])].flatMap((id) => deliveryIn(chunk, id) ?? []),
      );
      const all = [...own, early, ...inChunks.filter(({ key }) => key.subscriptionId !== 'e')];
      return { chunks, listings, message, all };
    };

    const ORDER = ['0d', 'Z-before-all', '_b', 'a', 'c', 'e', 'f', 'g', 'h', 'zz', '-x', 'i', 'k'];

    it.each([1, 2, 5, ORDER.length, ORDER.length + 1])(
      'are listed once each, by bucket and subscription, %i at a time',
      async (limit) => {
        const { listings, message, all } = await spread();
        const found: Delivery[] = [];
        const sizes: number[] = [];
        let marker: string | undefined;
        do {
          const page = await listings.ofMessage(
            { key: message, buckets: 2 },
            {
              limit,
              ...(marker === undefined ? {} : { marker }),
            },
          );
          found.push(...page.items);
          sizes.push(page.items.length);
          marker = page.marker;
        } while (marker !== undefined);
        expect(found.map(({ key }) => key.subscriptionId)).toEqual(ORDER);
        expect(sizes).toHaveLength(Math.ceil(ORDER.length / limit));
        expect(new Set(found)).toEqual(new Set(all));
      },
    );

    it('are taken from their separate records where those exist', async () => {
      const { listings, message } = await spread();
      const { items } = await listings.ofMessage({ key: message, buckets: 2 }, { limit: 100 });
      const statusOf = (id: string) => items.find(({ key }) => key.subscriptionId === id)?.status;
      expect(['a', 'c', 'e', 'f', '_b'].map(statusOf)).toEqual([
        'delivered',
        'cancelled',
        'retrying',
        'rejected',
        'pending',
      ]);
    });

    it('are counted once each, from the same records', async () => {
      const { listings, message } = await spread();
      expect(await listings.tally({ key: message, buckets: 2 })).toEqual({
        pending: 1,
        retrying: 2,
        delivered: 5,
        rejected: 1,
        exhausted: 1,
        cancelled: 3,
      });
    });

    it('include only those with separate records while a chunk is unclaimed', async () => {
      const { chunks, listings } = make();
      const message = { queue: 'orders.eu-1', messageId: randomUUID() };
      const early = aDelivery({
        key: aDeliveryKey({ ...message, subscriptionId: 'a' }),
        status: 'cancelled',
      });
      await chunks.takeOut(removeMemberBeforeClaim({ ...message, bucket: 0, chunk: 0 }, 'a', early), early);
      expect(await listings.ofMessage({ key: message, buckets: 1 }, { limit: 10 })).toEqual({
        items: [early],
      });
      expect(await listings.tally({ key: message, buckets: 1 })).toMatchObject({ pending: 0, cancelled: 1 });
    });

    it('are listed after the end of a page even if its last delivery has left its chunk', async () => {
      const { chunks, listings, message } = await spread();
      const { items, marker = '' } = await listings.ofMessage({ key: message, buckets: 2 }, { limit: 3 });
      const last = items.at(-1);
      expect(last?.key.subscriptionId).toBe('_b');
      const own = aDelivery({ key: aDeliveryKey({ ...message, subscriptionId: '_b' }), status: 'cancelled' });
      const transition = {
        key: { ...message, bucket: 0, chunk: 1 },
        expect: { kind: 'member' as const, subscriptionId: '_b', state: 'pending' as const },
        change: {
          states: new Map([['_b', 'separate' as const]]),
          updatedAt: SOME_TIME,
          expiresAt: own.expiresAt,
        },
      };
      expect(await chunks.takeOut(transition, own)).toBe('taken_out');
      const next = await listings.ofMessage({ key: message, buckets: 2 }, { limit: 100, marker });
      expect(next.items.map(({ key }) => key.subscriptionId)).toEqual(ORDER.slice(3));
    });
  });
};

type Stores = { chunks: Chunks; deliveries: Deliveries; messageRecords: MessageRecords };

/** Contract of adding a delivery to an accepted message: its record, its count and its chunk change together. */
const describeAddedDeliveries = (name: string, make: () => Stores): void => {
  describe(`adding a delivery ${name}`, () => {
    const accepted = async (more: Partial<MessageRecord> = {}) => {
      const stores = make();
      const place = aChunkKey();
      const { queue, messageId, bucket } = place;
      const key = { queue, messageId };
      const record = aRecord({ key, ...more });
      await stores.messageRecords.accept(record);
      const delivery = deliveryByHand(
        { key: { ...key, bucket, subscriptionId: 's' }, acceptedAt: record.acceptedAt },
        at,
      );
      const matched = async () => (await stores.messageRecords.find(key))?.matched;
      return { ...stores, place, record, delivery, matched };
    };
    type Accepted = Awaited<ReturnType<typeof accepted>>;

    const expectUnchanged = async ({ matched, record, deliveries, delivery }: Accepted, there?: Delivery) => {
      expect(await matched()).toBe(record.matched);
      expect(await deliveries.find(delivery.key)).toEqual(there);
    };

    it('creates its record, and counts it on the record of its message, which stays otherwise', async () => {
      const { chunks, deliveries, messageRecords, record, delivery } = await accepted();
      expect(await chunks.add(delivery, undefined)).toBe('added');
      expect(await deliveries.find(delivery.key)).toEqual(delivery);
      expect(await messageRecords.find(record.key)).toEqual({ ...record, matched: record.matched + 1 });
      expect(await deliveries.overdue(SOME_TIME, 1_000)).toContainEqual({
        key: delivery.key,
        overdueAt: SOME_TIME,
      });
    });

    it('marks it in its chunk, which is not claimed', async () => {
      const { chunks, place, delivery, matched, record } = await accepted();
      expect(await chunks.add(delivery, removeMemberBeforeClaim(place, 's', delivery))).toBe('added');
      expect((await chunks.find(place))?.excluded).toEqual(new Set(['s']));
      expect(await matched()).toBe(record.matched + 1);
    });

    it('changes nothing if the delivery exists', async () => {
      const all = await accepted();
      const { chunks, deliveries, delivery } = all;
      const create = aDelivery({ key: delivery.key, status: 'delivered' });
      await deliveries.write(creation(create));
      expect(await chunks.add(delivery, undefined)).toBe('refused');
      await expectUnchanged(all, create);
    });

    it('changes nothing if the chunk was claimed in the meantime', async () => {
      const all = await accepted();
      const { chunks, place, delivery } = all;
      await chunks.write(claimChunk(place, { acceptedAt: SOME_TIME, members: ['s'], lease: HOLDER }, at));
      expect(await chunks.add(delivery, removeMemberBeforeClaim(place, 's', delivery))).toBe('refused');
      await expectUnchanged(all);
      expect((await chunks.find(place))?.excluded).toEqual(new Set());
    });

    it.each<[string, Partial<MessageRecord>]>([
      ['the message is not sent to all subscriptions yet', { lastSubscriptionId: 's-5' }],
      ['the id belongs to another message now', { acceptedAt: SOME_TIME + 1 }],
    ])('changes nothing if %s', async (_what, more) => {
      const all = await accepted(more);
      const delivery = { ...all.delivery, acceptedAt: SOME_TIME };
      expect(await all.chunks.add(delivery, undefined)).toBe('refused');
      await expectUnchanged(all);
    });

    it('succeeds for one of twenty concurrent callers', async () => {
      const { chunks, delivery, matched, record } = await accepted();
      const once = await Promise.all(Array.from({ length: 20 }, () => chunks.add(delivery, undefined)));
      expect(once.filter((result) => result === 'added')).toHaveLength(1);
      expect(await matched()).toBe(record.matched + 1);
    });
  });
};

/** Contract of chunk stores and of what is listed of chunks. */
export const describeChunksContract = (name: string, make: () => ListedChunks & Stores): void => {
  describeWrites(name, make);
  describeAddedDeliveries(name, make);
  describeListings(name, make);
};
