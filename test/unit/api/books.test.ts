import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { countBooks } from '../../../functions/api/queues/books.ts';
import { type Books, EMPTY_BOOKS, isBalanced, sumOfBooks } from '../../../shared/domain/delivery/books.ts';
import { type BucketRange, bucketsOf, type FanOut } from '../../../shared/domain/delivery/fan-out.ts';
import type { Status } from '../../../shared/domain/delivery/vocabulary.ts';
import { InvalidMarkerError } from '../../../shared/ports/page.ts';
import { booksViewSchema } from '../../../shared/wire/views/books.ts';
import { aSubscription } from '../../support/builders.ts';
import { aDelivery, aDeliveryKey } from '../../support/delivery-builders.ts';
import { inMemoryDeliveries } from '../../support/in-memory/in-memory-deliveries.ts';
import {
  type Api,
  apiWithOrders,
  NOON,
  pagesFrom,
  recordAll,
  recordMessage,
  refusal,
} from './api-under-test.ts';
import { MAX_COUNTED_BUCKETS } from '../../../functions/api/messages/messages.ts';
import { inMemoryDeliveryListings } from '../../support/in-memory/in-memory-deliveries.ts';
import {
  inMemoryMessageListings,
  inMemoryMessageRecords,
} from '../../support/in-memory/in-memory-messages.ts';

const PATH = '/v2/queues/orders/books';
const HOUR = 3_600_000;

const page = booksViewSchema.extend({ links: z.array(z.object({ href: z.string() })) }).strict();

const booksAt = async ({ call }: Pick<Api, 'call'>, path: string) => {
  const { status, body } = await call('GET', path);
  expect(status).toBe(200);
  return page.parse(body);
};

describe('GET /v2/queues/{queue}/books', () => {
  it('covers the last 24 hours, counted from the records', async () => {
    const api = await apiWithOrders();
    await recordMessage(api, { messageId: 'a', acceptedAt: NOON - 24 * HOUR, matched: 2, duplicates: 1 });
    await recordMessage(api, { messageId: 'b', acceptedAt: NOON - 1, matched: 0, filtered: 3 });
    await recordMessage(api, { messageId: 'too old', acceptedAt: NOON - 24 * HOUR - 1 });
    await recordAll(api, [
      { messageId: 'a', status: 'delivered' },
      { messageId: 'a', status: 'retrying' },
    ]);
    expect(await booksAt(api, PATH)).toEqual({
      queue: 'orders',
      since: '2026-11-20T12:00:00.000Z',
      until: '2026-11-21T12:00:00.000Z',
      books: {
        ...EMPTY_BOOKS,
        accepted: 2,
        duplicates: 1,
        matched: 2,
        unmatched: 1,
        filtered: 3,
        delivered: 1,
        pending: 1,
      },
      balances: true,
      links: [],
    });
  });

  it('leaves out messages older than the retention, because some of their delivery records have expired', async () => {
    const api = await apiWithOrders();
    await recordMessage(api, { messageId: 'old', acceptedAt: NOON - 720 * HOUR, matched: 1 });
    await recordMessage(api, { messageId: 'young', acceptedAt: NOON - 720 * HOUR + 1, matched: 0 });
    // Of a queue that kept 15 days when it was accepted.
    const retained = { acceptedAt: NOON - 360 * HOUR, retentionDays: 15 };
    await recordMessage(api, { messageId: 'less-retained', ...retained, matched: 1 });
    expect(await booksAt(api, `${PATH}?since=2026-10-01T00:00:00Z`)).toMatchObject({
      balances: true,
      books: { accepted: 1, matched: 0 },
    });
  });

  it('does not balance while a matched delivery is not on record', async () => {
    const api = await apiWithOrders();
    await recordMessage(api, { messageId: 'a', acceptedAt: NOON - 1, matched: 2 });
    await recordAll(api, [{ messageId: 'a', status: 'delivered' }]);
    expect(await booksAt(api, PATH)).toMatchObject({ balances: false, books: { matched: 2, pending: 0 } });
  });

  it('continues through links over the same window', async () => {
    const api = await apiWithOrders();
    await api.registry.addSubscription(aSubscription({ queue: 'orders', id: 's-1', createdAt: NOON }));
    for (let index = 0; index < 150; index += 1)
      await recordMessage(api, { messageId: `m-${index}`, acceptedAt: NOON - 150 + index, matched: 0 });
    for (const about of ['', '&subscription=s-1']) {
      let total = EMPTY_BOOKS;
      let pages = 0;
      const windows = new Set<string>();
      const first = `${PATH}?since=2026-11-21T00:00:00Z${about}`;
      for await (const { since, until, books, links } of pagesFrom((path) => booksAt(api, path), first)) {
        windows.add(`${since} ${until}`);
        pages += 1;
        total = sumOfBooks(total, books);
        for (const { href } of links) expect(href).toContain(about);
      }
      expect(total).toMatchObject({ accepted: 150, unmatched: 150 });
      expect(windows.size).toBe(1);
      expect(pages).toBe(2);
    }
  });

  describe('with ?subscription', () => {
    /** `s-1` was subscribed an hour before noon, to messages of one type. */
    const withSubscription = async () => {
      const api = await apiWithOrders();
      const options = { event_types: ['order.created'] };
      await api.registry.addSubscription(
        aSubscription({ queue: 'orders', id: 's-1', createdAt: NOON - HOUR, options }),
      );
      return api;
    };
    const OF_SUBSCRIPTION = `${PATH}?subscription=s-1`;

    it('counts only its deliveries', async () => {
      const api = await withSubscription();
      for (const messageId of ['a', 'b', 'c'])
        await recordMessage(api, { messageId, acceptedAt: NOON - 2, listedAt: NOON - 2, duplicates: 1 });
      await recordAll(api, [
        { messageId: 'a', subscriptionId: 's-1', status: 'delivered' },
        { messageId: 'b', subscriptionId: 's-1', status: 'retrying' },
        { messageId: 'c', subscriptionId: 's-1', status: 'exhausted' },
        { messageId: 'c', subscriptionId: 's-2', status: 'delivered' },
      ]);
      const counts = { accepted: 3, duplicates: 3, matched: 3, delivered: 1, exhausted: 1, pending: 1 };
      expect(await booksAt(api, OF_SUBSCRIPTION)).toMatchObject({
        books: { ...EMPTY_BOOKS, ...counts },
        balances: true,
      });
    });

    it('tells messages that its options excluded from those before it was subscribed', async () => {
      const api = await withSubscription();
      await recordMessage(api, { messageId: 'filtered', acceptedAt: NOON - 1, listedAt: NOON - 1 });
      const earlier = { acceptedAt: NOON - 2 * HOUR, listedAt: NOON - 2 * HOUR };
      // Incomplete, but that cannot be its delivery.
      await recordMessage(api, { messageId: 'before', ...earlier });
      await recordAll(api, [{ messageId: 'filtered', subscriptionId: 's-2', status: 'delivered' }]);
      expect(await booksAt(api, OF_SUBSCRIPTION)).toMatchObject({
        books: { ...EMPTY_BOOKS, accepted: 2, unmatched: 2, filtered: 1 },
        balances: true,
      });
    });

    it('does not balance while its delivery of a message may be missing', async () => {
      const api = await withSubscription();
      await recordMessage(api, { messageId: 'a', acceptedAt: NOON - 1, matched: 2 });
      await recordAll(api, [{ messageId: 'a', subscriptionId: 's-2', status: 'delivered' }]);
      expect(await booksAt(api, OF_SUBSCRIPTION)).toMatchObject({
        books: { ...EMPTY_BOOKS, accepted: 1, unfinished: 1 },
        balances: false,
      });
    });

    it('is 404 for an unknown subscription, and reads the records of a deleted one on request', async () => {
      const api = await withSubscription();
      await recordMessage(api, { messageId: 'a', acceptedAt: NOON - 1 });
      await recordAll(api, [{ messageId: 'a', subscriptionId: 's-3', status: 'delivered' }]);
      expect(await api.call('GET', `${PATH}?subscription=s-3`)).toMatchObject(refusal('not_found'));
      expect(await booksAt(api, `${PATH}?subscription=s-3&deleted=true`)).toMatchObject({
        books: { matched: 1, delivered: 1 },
        balances: true,
      });
    });

    it('says what a message with many deliveries to others was to it, after several pages', async () => {
      const api = await withSubscription();
      const large = {
        messageId: 'large',
        acceptedAt: NOON - 2,
        listedAt: NOON - 2,
        matched: 2,
        buckets: 100,
      };
      await recordMessage(api, large);
      await recordAll(
        api,
        [0, 99].map((bucket) => ({ messageId: 'large', subscriptionId: `to-${bucket}`, bucket })),
      );
      const pages: unknown[] = [];
      for await (const { books } of pagesFrom((path) => booksAt(api, path), OF_SUBSCRIPTION))
        pages.push(books);
      const filtered = { ...EMPTY_BOOKS, accepted: 1, unmatched: 1, filtered: 1 };
      expect(pages).toEqual([EMPTY_BOOKS, EMPTY_BOOKS, filtered]);
    });
  });
});

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
