import { describe, expect, it } from 'vitest';
import { type Books, EMPTY_BOOKS, isBalanced, sumOfBooks } from '../../../shared/domain/delivery/books.ts';
import { type BucketRange, bucketsOf, type FanOut } from '../../../shared/domain/delivery/fan-out.ts';
import type { Status } from '../../../shared/domain/delivery/vocabulary.ts';
import { MAX_COUNTED_BUCKETS } from '../../../functions/api/messages/count-deliveries.ts';
import { countBooks } from '../../../functions/api/queues/books.ts';
import { InvalidMarkerError } from '../../../shared/ports/page.ts';
import { aDelivery, aDeliveryKey } from '../../support/delivery-builders.ts';
import {
  inMemoryDeliveries,
  inMemoryDeliveryListings,
} from '../../support/in-memory/in-memory-deliveries.ts';
import {
  inMemoryMessageListings,
  inMemoryMessageRecords,
} from '../../support/in-memory/in-memory-messages.ts';

const START = Date.UTC(2026, 10, 21, 12);
const window = { queue: 'orders', since: START, until: START + 1000 };

/** In-memory ports with a clock that advances by `stepMs` at each reading. */
const booksWorld = () => {
  const messageRecords = inMemoryMessageRecords();
  const deliveries = inMemoryDeliveries();
  let reading = 0;
  let mostAtOnce = 0;
  const deliveryListings = inMemoryDeliveryListings(deliveries);
  const counted: number[] = [];
  return {
    mostAtOnce: () => mostAtOnce,
    /** Buckets counted since the last call. */
    countedBuckets: () => counted.splice(0).reduce((sum, buckets) => sum + buckets, 0),
    context: {
      clock: { now: () => START },
      messageListings: inMemoryMessageListings(messageRecords),
      messageRecords: {
        find: async (key: Parameters<typeof messageRecords.find>[0]) => {
          reading += 1;
          mostAtOnce = Math.max(mostAtOnce, reading);
          const found = await messageRecords.find(key);
          reading -= 1;
          return found;
        },
      },
      deliveryListings: {
        tally: (message: FanOut, range: BucketRange = bucketsOf(message)) => {
          counted.push(range.end - range.first);
          return deliveryListings.tally(message, range);
        },
      },
      settings: { retentionMs: 30 * 86_400_000 },
    },
    messageRecords,
    accept: async (
      messageId: string,
      acceptedAt: number,
      {
        statuses = [],
        ...more
      }: {
        statuses?: readonly Status[];
        matched?: number;
        filtered?: number;
        duplicates?: number;
        buckets?: number;
      },
      queue = 'orders',
    ) => {
      await messageRecords.accept({
        key: { queue, messageId },
        acceptedAt,
        listedAt: acceptedAt,
        matched: statuses.length,
        filtered: 0,
        duplicates: 0,
        buckets: 1,
        expiresAt: acceptedAt + 1,
        ...more,
      });
      for (const [index, status] of statuses.entries()) {
        const key = aDeliveryKey({ queue, messageId, bucket: index % (more.buckets ?? 1) });
        const create = aDelivery({ key, status, acceptedAt });
        await deliveries.write({ name: 'open', key, expect: { kind: 'absent' }, create });
      }
    },
  };
};

describe('the reconciliation report of a window', () => {
  it('counts the records of messages and their deliveries', async () => {
    const world = booksWorld();
    await world.accept('a', START, {
      statuses: ['delivered', 'rejected', 'pending'],
      duplicates: 2,
      buckets: 2,
    });
    await world.accept('b', START + 1, { statuses: ['exhausted', 'cancelled', 'retrying', 'delivered'] });
    await world.accept('c', START + 999, { filtered: 5 });
    await world.accept('before', START - 1, { statuses: ['delivered'] });
    await world.accept('after', START + 1000, { statuses: ['delivered'] });
    await world.accept('elsewhere', START, { statuses: ['delivered'] }, 'other');
    expect(await countBooks(world.context, window, undefined)).toEqual({
      books: {
        accepted: 3,
        duplicates: 2,
        matched: 7,
        unmatched: 1,
        unfinished: 0,
        filtered: 5,
        delivered: 2,
        rejected: 1,
        exhausted: 1,
        cancelled: 1,
        pending: 2,
      },
    });
  });

  it('does not count deliveries that are not on record', async () => {
    const world = booksWorld();
    await world.accept('a', START, { statuses: ['delivered'], matched: 3 });
    const { books } = await countBooks(world.context, window, undefined);
    expect(books).toMatchObject({ matched: 3, delivered: 1, pending: 0 });
  });

  it('is empty for a queue without messages', async () => {
    expect(await countBooks(booksWorld().context, window, undefined)).toEqual({ books: EMPTY_BOOKS });
  });

  it('leaves out a listed message whose record has expired', async () => {
    const world = booksWorld();
    await world.accept('a', START, { statuses: ['delivered'] });
    const context = { ...world.context, messageRecords: { find: () => Promise.resolve(undefined) } };
    expect(await countBooks(context, window, undefined)).toEqual({ books: EMPTY_BOOKS });
  });

  it('stops after 80 messages or a thousand deliveries, and the parts add up to the whole', async () => {
    const world = booksWorld();
    for (let index = 0; index < 1_000; index += 1)
      await world.accept(`m-${index}`, START + index, { statuses: ['delivered', 'exhausted'] });
    let total = EMPTY_BOOKS;
    let calls = 0;
    for (let marker: string | undefined, isFirst = true; isFirst || marker !== undefined; isFirst = false) {
      const part = await countBooks(world.context, window, marker);
      total = sumOfBooks(total, part.books);
      expect(part.next?.countedUntil).toBe(part.next && START + total.accepted - 1);
      marker = part.next?.marker;
      calls += 1;
    }
    expect(total).toMatchObject({ accepted: 1_000, matched: 2_000, delivered: 1_000, exhausted: 1_000 });
    // Two pages of 40 each.
    expect(calls).toBe(13);
  });

  it('reads at most 40 messages in parallel', async () => {
    const world = booksWorld();
    for (let index = 0; index < 80; index += 1) await world.accept(`m-${index}`, START + index, {});
    const { books, next } = await countBooks(world.context, window, undefined);
    expect(books.accepted).toBe(80);
    expect(next).toBeUndefined();
    expect(world.mostAtOnce()).toBeLessThanOrEqual(40);
  });

  it('counts a message with many deliveries in several parts', async () => {
    const world = booksWorld();
    const statuses = Array.from({ length: 100 }, (_, index): Status =>
      index % 2 ? 'delivered' : 'exhausted',
    );
    for (let index = 0; index < 5; index += 1)
      await world.accept(`before-${index}`, START + index, { statuses: ['delivered'], buckets: 10 });
    await world.accept('large', START + 10, { statuses, buckets: 100 });
    await world.accept('after', START + 11, { statuses: ['pending'] });
    const parts = await allParts(world);
    expect(parts.map(({ accepted }) => accepted)).toEqual([4, 1, 0, 0, 1, 1]);
    expect(parts.every(isBalanced)).toBe(true);
    expect(parts.reduce(sumOfBooks)).toMatchObject({
      accepted: 7,
      matched: 106,
      delivered: 55,
      exhausted: 50,
      pending: 1,
    });
  });

  it('begins anew with a message whose place in the window was taken while it was counted', async () => {
    const world = booksWorld();
    await world.accept('large', START + 10, { statuses: ['delivered'], buckets: 100 });
    const { next } = await countBooks(world.context, window, undefined);
    world.countedBuckets();
    await world.accept('earlier', START, { statuses: ['pending'] });
    const parts = await allParts(world, next?.marker);
    expect(parts.reduce(sumOfBooks)).toMatchObject({ accepted: 2, delivered: 1, pending: 1 });
  });

  it.each(['.', '.x', `.${Buffer.from('{"messageId":"m","next":-1}').toString('base64url')}`, 'x.'])(
    'refuses the marker %s, which it did not make',
    async (marker) => {
      await expect(countBooks(booksWorld().context, window, marker)).rejects.toThrow(InvalidMarkerError);
    },
  );
});

/** The counts of all parts, none of which reads more than a page of messages and a part of a large one. */
const allParts = async (world: ReturnType<typeof booksWorld>, from?: string): Promise<Books[]> => {
  const parts: Books[] = [];
  let marker = from;
  do {
    const { books, next } = await countBooks(world.context, window, marker);
    expect(world.countedBuckets()).toBeLessThanOrEqual(2 * MAX_COUNTED_BUCKETS);
    parts.push(books);
    marker = next?.marker;
  } while (marker !== undefined);
  return parts;
};
