import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  type Chunk,
  claimChunk,
  recordSuccesses,
  removeMemberBeforeClaim,
  deliveryIn,
} from '../../shared/domain/delivery/chunk.ts';
import type { Status } from '../../shared/domain/delivery/vocabulary.ts';
import type { ChunkKey, Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryListings } from '../../shared/ports/deliveries.ts';
import { aFirstSuccess, HOLDER, RETENTION_MS } from '../support/chunk-builders.ts';
import { aDelivery, aDeliveryKey, SOME_TIME } from '../support/delivery-builders.ts';
import type { ChunksUnderTest } from './chunks.contract.ts';
import { createAll } from './delivery-listings.contract.ts';

export type ListedChunks = ChunksUnderTest & { listings: DeliveryListings };

const at = { now: SOME_TIME, retentionMs: RETENTION_MS };

/**
 * Contract of listings for a message with chunks: each delivery appears once, from the record that takes
 * precedence.
 */
export const describeChunkListingsContract = (name: string, make: () => ListedChunks): void => {
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
