import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Chunk,
  type ChunkTransition,
  claimChunk,
  deliveryIn,
  dissolveChunk,
  recordSuccesses,
  removeMember,
  removeMemberBeforeClaim,
} from '../../shared/domain/delivery/chunk.ts';
import type { ChunkKey, Delivery } from '../../shared/domain/delivery/delivery.ts';
import { deliveryByHand } from '../../shared/domain/delivery/interventions.ts';
import type { Status } from '../../shared/domain/delivery/vocabulary.ts';
import type { ChunkResult, Chunks, Deliveries, DeliveryListings } from '../../shared/ports/deliveries.ts';
import type { MessageKey } from '../../shared/domain/message/message.ts';
import type { MessageRecord, MessageRecords } from '../../shared/ports/messages.ts';
import { arbitraryStep, firstOf, transitionOf } from '../support/delivery-arbitraries.ts';
import { aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../support/chunk-builders.ts';
import { aDelivery, aDeliveryKey, type DeliveryFields, SOME_TIME } from '../support/delivery-builders.ts';
import { allPages } from '../support/all-pages.ts';
import { createAll, creation } from './delivery-cases.ts';
import { aRecord } from './message-records.contract.ts';
import { applyToChunk, chunkHolds } from '../support/in-memory/chunk-model.ts';

type Stores = {
  chunks: Chunks;
  deliveries: Deliveries;
  messageRecords: MessageRecords;
  listings: DeliveryListings;
};

const at = { now: SOME_TIME, retentionMs: RETENTION_MS };
const MEMBERS = ['-b', '_c', '0d', '12', 'a'];

const claimOf = (key: ChunkKey, owner = HOLDER.owner, members: readonly string[] = MEMBERS) =>
  claimChunk(
    key,
    { acceptedAt: SOME_TIME - 5, dueAt: SOME_TIME - 1, members, lease: { ...HOLDER, owner } },
    at,
  );

const successes = (...ids: readonly string[]) => new Map(ids.map((id) => [id, aFirstSuccess()]));

const recordOf = (key: ChunkKey, delivered: readonly string[], separate: readonly string[] = []) =>
  recordSuccesses(key, HOLDER.owner, { successes: successes(...delivered), separate, ends: false }, at);

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
const describeWrites = (name: string, make: () => Stores): void => {
  describe(`chunks ${name}`, () => {
    const { chunks, deliveries } = make();
    /** Of a claimed chunk. */
    let key: ChunkKey;
    beforeEach(async () => {
      key = aChunkKey();
      await chunks.write(claimOf(key));
    });

    it('finds the complete chunk after a claim, and no other', async () => {
      expect(await chunks.find(key)).toEqual(applyToChunk(claimOf(key), undefined));
      const places = [{ queue: 'other' }, { messageId: 'other' }, { bucket: 1 }, { chunk: 1 }, { chunk: 10 }];
      for (const other of places) expect(await chunks.find({ ...key, ...other })).toBeUndefined();
    });

    it('gives the claim to one of twenty callers and returns its chunk to the others', async () => {
      key = aChunkKey();
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, racer) =>
          chunks.write(claimOf(key, `racer-${racer}`, [`s-${racer}`])),
        ),
      );
      const chunk = await chunks.find(key);
      expect(results.filter(({ kind }) => kind === 'written')).toEqual([{ kind: 'written', chunk }]);
      expect(results.filter(({ kind }) => kind === 'refused')).toEqual(
        Array.from({ length: 19 }, () => ({ kind: 'refused', current: chunk })),
      );
    });

    it('loses no success when several are recorded concurrently', async () => {
      const results = await Promise.all(MEMBERS.map((id) => chunks.write(recordOf(key, [id]))));
      expect(results.map(({ kind }) => kind)).toEqual(MEMBERS.map(() => 'written'));
      expect((await chunks.find(key))?.members).toEqual(successes(...MEMBERS));
    });

    it('returns the same results as the domain for random sequences of steps', async () => {
      const steps = fc.array(arbitraryStep, { minLength: 1, maxLength: 12 });
      await fc.assert(
        fc.asyncProperty(steps, async (sequence) => {
          const key = aChunkKey();
          const model = chunkModel();
          for (const [index, step] of sequence.entries()) {
            const transition = transitionOf(step, { key, current: model.chunk(), now: SOME_TIME + index });
            const isTakingOut = step.kind === 'take_out' || step.kind === 'take_out_early';
            const delivery = memberOf(key, firstOf(step), { acceptedAt: SOME_TIME + index });
            if (isTakingOut)
              expect(await chunks.takeOut(transition, delivery)).toBe(model.takeOut(transition, delivery));
            else expect(await chunks.write(transition)).toEqual(model.write(transition));
          }
          expect(await chunks.find(key)).toEqual(model.chunk());
          for (const delivery of model.own()) expect(await deliveries.find(delivery.key)).toEqual(delivery);
        }),
        { numRuns: 30 },
      );
    });

    describe('taking a delivery out of its chunk', () => {
      const takeOut = (delivery: Delivery) =>
        chunks.takeOut(removeMember(key, delivery.key.subscriptionId, 'pending', delivery), delivery);
      const takeOutEarly = (place: ChunkKey, delivery: Delivery) =>
        chunks.takeOut(removeMemberBeforeClaim(place, delivery.key.subscriptionId, delivery), delivery);
      const stateOf = async (id: string) => (await chunks.find(key))?.members?.get(id);

      it('creates a separate record and marks the member in the chunk', async () => {
        const delivery = memberOf(key, '-b');
        expect(await takeOut(delivery)).toBe('taken_out');
        expect(await stateOf('-b')).toBe('separate');
        expect(await deliveries.find(delivery.key)).toEqual(delivery);
      });

      it('is refused if the chunk already has another state for the member', async () => {
        await chunks.write(recordOf(key, ['a']));
        const delivery = memberOf(key, 'a');
        expect(await takeOut(delivery)).toBe('refused');
        expect(await stateOf('a')).toEqual(aFirstSuccess());
        expect(await deliveries.find(delivery.key)).toBeUndefined();
      });

      it('is refused if the delivery already has a separate record', async () => {
        const there = memberOf(key, 'a', { status: 'retrying' });
        await deliveries.write(creation(there));
        expect(await takeOut(memberOf(key, 'a'))).toBe('refused');
        expect(await stateOf('a')).toBe('pending');
        expect(await deliveries.find(there.key)).toEqual(there);
      });

      it('is refused before the claim if the chunk is already claimed, and otherwise allowed', async () => {
        const delivery = memberOf(key, 'a', { status: 'cancelled' });
        expect(await takeOutEarly(key, delivery)).toBe('refused');
        expect(await deliveries.find(delivery.key)).toBeUndefined();
        const other = aChunkKey();
        for (const id of ['a', '12']) {
          const early = memberOf(other, id, { status: 'cancelled' });
          expect(await takeOutEarly(other, early)).toBe('taken_out');
          expect(await deliveries.find(early.key)).toEqual(early);
        }
        expect((await chunks.find(other))?.excluded).toEqual(new Set(['a', '12']));
        const result = await chunks.write(claimOf(other));
        expect(result).toMatchObject({ kind: 'written', chunk: { excluded: new Set(['a', '12']) } });
      });

      it('succeeds for one of twenty concurrent callers', async () => {
        const racers = Array.from({ length: 20 }, (_, index) =>
          memberOf(key, 'a', { acceptedAt: SOME_TIME + index }),
        );
        const results = await Promise.all(racers.map(takeOut));
        expect(results.filter((result) => result === 'taken_out')).toHaveLength(1);
      });

      it('makes the chunk refuse a later record of the success of the member', async () => {
        await takeOut(memberOf(key, 'a'));
        const recorded = { successes: successes('a', '12'), separate: [], ends: true };
        const result = await chunks.write(recordSuccesses(key, HOLDER.owner, recorded, at));
        expect(result).toMatchObject({ kind: 'refused', current: { lease: HOLDER } });
        expect(await stateOf('12')).toBe('pending');
      });
    });

    it('ends a lease once, and returns the current chunk to later callers', async () => {
      const results = await Promise.all([1, 2, 3].map(() => chunks.write(dissolveChunk(key, HOLDER, at))));
      expect(results.filter(({ kind }) => kind === 'written')).toHaveLength(1);
      const [refused] = results.filter((result) => result.kind === 'refused');
      expect(refused?.current).toEqual(await chunks.find(key));
      expect(refused?.current?.lease).toBeUndefined();
    });
  });
};

/**
 * Contract of listings for a message with chunks: each delivery appears once, from the record that takes
 * precedence.
 */
const describeListings = (name: string, make: () => Stores): void => {
  describe(`the deliveries of a message in chunks ${name}`, () => {
    const { chunks, deliveries, listings } = make();
    let message: MessageKey;
    let all: Delivery[];
    const place = (bucket: number, chunk: number): ChunkKey => ({ ...message, bucket, chunk });
    const ownOf = (bucket: number, subscriptionId: string, status: Status): Delivery =>
      memberOf(place(bucket, 0), subscriptionId, { status });

    /** Two buckets, the first with two chunks. Some members also have separate records. */
    beforeEach(async () => {
      message = { queue: 'orders.eu-1', messageId: randomUUID() };
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
        await chunks.write(claimOf(key, HOLDER.owner, members));
        const separate = members.filter((id) => id === 'f');
        const result = await chunks.write(recordOf(key, delivered, separate));
        if (result.kind === 'written') written.push(result.chunk);
      };
      await write(place(0, 0), ['a', 'c', 'e', 'g'], ['a', 'g']);
      await write(place(0, 1), ['_b', '0d', 'f'], ['0d']);
      await write(place(1, 0), ['i', 'k'], ['i', 'k']);
      const others = [aDelivery(), aDelivery({ key: aDeliveryKey({ queue: 'other' }) })];
      await createAll(deliveries, [...own, ...others]);
      const inChunks = written.flatMap((chunk) =>
        [...(chunk.members?.keys() ?? [])].flatMap((id) => deliveryIn(chunk, id) ?? []),
      );
      all = [...own, early, ...inChunks.filter(({ key }) => key.subscriptionId !== 'e')];
    });

    const ORDER = ['0d', 'Z-before-all', '_b', 'a', 'c', 'e', 'f', 'g', 'h', 'zz', '-x', 'i', 'k'];

    it.each([1, 2, 5, ORDER.length, ORDER.length + 1])(
      'are listed once each, by bucket and subscription, %i at a time',
      async (limit) => {
        const pages = await allPages(limit, (page) => listings.ofMessage({ key: message, buckets: 2 }, page));
        expect(pages.flat().map(({ key }) => key.subscriptionId)).toEqual(ORDER);
        expect(pages).toHaveLength(Math.ceil(ORDER.length / limit));
        expect(new Set(pages.flat())).toEqual(new Set(all));
      },
    );

    it('are counted once each, from the same records', async () => {
      const counts = { pending: 1, retrying: 2, delivered: 5, rejected: 1, exhausted: 1, cancelled: 3 };
      expect(await listings.tally({ key: message, buckets: 2 })).toEqual(counts);
    });

    it('include only those with separate records while a chunk is unclaimed', async () => {
      message = { queue: 'orders.eu-1', messageId: randomUUID() };
      const early = ownOf(0, 'a', 'cancelled');
      await chunks.takeOut(removeMemberBeforeClaim(place(0, 0), 'a', early), early);
      const asked = { key: message, buckets: 1 };
      expect(await listings.ofMessage(asked, { limit: 10 })).toEqual({ items: [early] });
      expect(await listings.tally(asked)).toMatchObject({ pending: 0, cancelled: 1 });
    });

    it('are listed after the end of a page even if its last delivery has left its chunk', async () => {
      const { items, marker = '' } = await listings.ofMessage({ key: message, buckets: 2 }, { limit: 3 });
      expect(items.at(-1)?.key.subscriptionId).toBe('_b');
      const own = ownOf(0, '_b', 'cancelled');
      expect(await chunks.takeOut(removeMember(place(0, 1), '_b', 'pending', own), own)).toBe('taken_out');
      const next = await listings.ofMessage({ key: message, buckets: 2 }, { limit: 100, marker });
      expect(next.items.map(({ key }) => key.subscriptionId)).toEqual(ORDER.slice(3));
    });
  });
};

/** Contract of adding a delivery to an accepted message: its record, its count and its chunk change together. */
const describeAddedDeliveries = (name: string, make: () => Stores): void => {
  describe(`adding a delivery ${name}`, () => {
    const { chunks, deliveries, messageRecords } = make();
    const record = aRecord();
    let place: ChunkKey;
    let delivery: Delivery;

    const accept = async (more: Partial<MessageRecord> = {}) => {
      place = aChunkKey();
      const { queue, messageId, bucket } = place;
      record.key = { queue, messageId };
      await messageRecords.accept({ ...record, ...more });
      const key = { ...record.key, bucket, subscriptionId: 's' };
      delivery = deliveryByHand({ key, acceptedAt: SOME_TIME }, at);
    };
    beforeEach(() => accept());

    const matched = async () => (await messageRecords.find(record.key))?.matched;
    const expectUnchanged = async (there?: Delivery) => {
      expect(await matched()).toBe(record.matched);
      expect(await deliveries.find(delivery.key)).toEqual(there);
    };

    it('creates its record, and counts it on the record of its message, which stays otherwise', async () => {
      expect(await chunks.add(delivery, undefined)).toBe('added');
      expect(await deliveries.find(delivery.key)).toEqual(delivery);
      expect(await messageRecords.find(record.key)).toEqual({ ...record, matched: record.matched + 1 });
      expect(await deliveries.overdue(SOME_TIME, 1_000)).toContainEqual({
        key: delivery.key,
        overdueAt: SOME_TIME,
      });
    });

    it('marks it in its chunk, which is not claimed', async () => {
      expect(await chunks.add(delivery, removeMemberBeforeClaim(place, 's', delivery))).toBe('added');
      expect((await chunks.find(place))?.excluded).toEqual(new Set(['s']));
      expect(await matched()).toBe(record.matched + 1);
    });

    it('changes nothing if the delivery exists', async () => {
      const create = aDelivery({ key: delivery.key, status: 'delivered' });
      await deliveries.write(creation(create));
      expect(await chunks.add(delivery, undefined)).toBe('refused');
      await expectUnchanged(create);
    });

    it('changes nothing if the chunk was claimed in the meantime', async () => {
      await chunks.write(claimOf(place, HOLDER.owner, ['s']));
      expect(await chunks.add(delivery, removeMemberBeforeClaim(place, 's', delivery))).toBe('refused');
      await expectUnchanged();
      expect((await chunks.find(place))?.excluded).toEqual(new Set());
    });

    it.each<[string, Partial<MessageRecord>]>([
      ['the message is not sent to all subscriptions yet', { lastSubscriptionId: 's-5' }],
      ['the id belongs to another message now', { acceptedAt: SOME_TIME + 1 }],
    ])('changes nothing if %s', async (_what, more) => {
      await accept(more);
      expect(await chunks.add(delivery, undefined)).toBe('refused');
      await expectUnchanged();
    });

    it('succeeds for one of twenty concurrent callers', async () => {
      const once = await Promise.all(Array.from({ length: 20 }, () => chunks.add(delivery, undefined)));
      expect(once.filter((result) => result === 'added')).toHaveLength(1);
      expect(await matched()).toBe(record.matched + 1);
    });
  });
};

/** Contract of chunk stores and of what is listed of chunks. */
export const describeChunksContract = (name: string, make: () => Stores): void => {
  describeWrites(name, make);
  describeAddedDeliveries(name, make);
  describeListings(name, make);
};
