import { describe, expect, vi } from 'vitest';
import * as z from 'zod';
import { countBooks } from '../../../functions/api/queues/books.ts';
import { type Books, EMPTY_BOOKS, isBalanced, sumOfBooks } from '../../../shared/domain/delivery/books.ts';
import { toBucketRange } from '../../../shared/domain/delivery/fan-out.ts';
import type { Status } from '../../../shared/domain/delivery/vocabulary.ts';
import { InvalidMarkerError } from '../../../shared/ports/page.ts';
import { booksViewSchema } from '../../../shared/wire/views/books.ts';
import { addSubscription } from '../../support/add-subscription.ts';
import { aSubscription } from '../../support/builders.ts';
import {
  type Api,
  apiWithOrders,
  itWithOrders,
  NOON,
  pagesFrom,
  recordAll,
  recordMessage,
  refusal,
} from './api-test.ts';
import { MAX_COUNTED_BUCKETS } from '../../../functions/api/messages/messages.ts';

const PATH = '/v2/queues/orders/books';
const HOUR = 3_600_000;

const page = booksViewSchema.extend({ links: z.array(z.object({ href: z.string() })) }).strict();

const it = itWithOrders.extend(
  'booksAt',
  ({ api }) =>
    async (path: string) =>
      page.parse(await api.get(path)),
);

describe('GET /v2/queues/{queue}/books', () => {
  it('covers the last 24 hours, counted from the records', async ({ api, booksAt }) => {
    await recordMessage(api, { messageId: 'a', acceptedAt: NOON - 24 * HOUR, matched: 2, duplicates: 1 });
    await recordMessage(api, { messageId: 'b', acceptedAt: NOON - 1, matched: 0, filtered: 3 });
    await recordMessage(api, { messageId: 'too old', acceptedAt: NOON - 24 * HOUR - 1 });
    await recordAll(api, [
      { messageId: 'a', status: 'delivered' },
      { messageId: 'a', status: 'retrying' },
    ]);
    expect(await booksAt(PATH)).toEqual({
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

  it('leaves out messages whose deliveries may have expired', async ({ api, booksAt }) => {
    await recordMessage(api, { messageId: 'old', acceptedAt: NOON - 720 * HOUR, matched: 1 });
    await recordMessage(api, { messageId: 'young', acceptedAt: NOON - 720 * HOUR + 1, matched: 0 });
    // Of a queue that kept 15 days when it was accepted.
    const retained = { acceptedAt: NOON - 360 * HOUR, retentionDays: 15 };
    await recordMessage(api, { messageId: 'less-retained', ...retained, matched: 1 });
    expect(await booksAt(`${PATH}?since=2026-10-01T00:00:00Z`)).toMatchObject({
      balances: true,
      books: { accepted: 1, matched: 0 },
    });
  });

  it('does not balance while a matched delivery is not on record', async ({ api, booksAt }) => {
    await recordMessage(api, { messageId: 'a', acceptedAt: NOON - 1, matched: 2 });
    await recordAll(api, [{ messageId: 'a', status: 'delivered' }]);
    expect(await booksAt(PATH)).toMatchObject({ balances: false, books: { matched: 2, pending: 0 } });
  });

  it('continues through links over the same window', async ({ api, booksAt }) => {
    await addSubscription(api.registry, aSubscription({ queue: 'orders', id: 's-1', createdAt: NOON }));
    for (let index = 0; index < 150; index += 1)
      await recordMessage(api, { messageId: `m-${index}`, acceptedAt: NOON - 150 + index, matched: 0 });
    for (const about of ['', '&subscription=s-1']) {
      const pages = await pagesFrom(booksAt, `${PATH}?since=2026-11-21T00:00:00Z${about}`);
      const total = pages.map(({ books }) => books).reduce(sumOfBooks);
      expect(total).toMatchObject({ accepted: 150, unmatched: 150 });
      expect(new Set(pages.map(({ since, until }) => `${since} ${until}`)).size).toBe(1);
      expect(pages).toHaveLength(2);
      expect(pages[0]?.links[0]?.href).toContain(about);
    }
  });

  describe('with ?subscription', () => {
    /** `s-1` was subscribed an hour before noon, to messages of one type. */
    it.override('api', async () => {
      const api = await apiWithOrders();
      const options = { event_types: ['order.created'] };
      await addSubscription(api.registry, aSubscription({ id: 's-1', createdAt: NOON - HOUR, options }));
      return api;
    });
    const OF_SUBSCRIPTION = `${PATH}?subscription=s-1`;

    it('counts only its deliveries', async ({ api, booksAt }) => {
      for (const messageId of ['a', 'b', 'c'])
        await recordMessage(api, { messageId, acceptedAt: NOON - 2, listedAt: NOON - 2, duplicates: 1 });
      await recordAll(api, [
        { messageId: 'a', subscriptionId: 's-1', status: 'delivered' },
        { messageId: 'b', subscriptionId: 's-1', status: 'retrying' },
        { messageId: 'c', subscriptionId: 's-1', status: 'exhausted' },
        { messageId: 'c', subscriptionId: 's-2', status: 'delivered' },
      ]);
      const counts = { accepted: 3, duplicates: 3, matched: 3, delivered: 1, exhausted: 1, pending: 1 };
      expect(await booksAt(OF_SUBSCRIPTION)).toMatchObject({
        books: { ...EMPTY_BOOKS, ...counts },
        balances: true,
      });
    });

    it('tells messages that its options excluded from earlier ones', async ({ api, booksAt }) => {
      await recordMessage(api, { messageId: 'filtered', acceptedAt: NOON - 1, listedAt: NOON - 1 });
      const earlier = { acceptedAt: NOON - 2 * HOUR, listedAt: NOON - 2 * HOUR };
      // Incomplete, but that cannot be its delivery.
      await recordMessage(api, { messageId: 'before', ...earlier });
      await recordAll(api, [{ messageId: 'filtered', subscriptionId: 's-2', status: 'delivered' }]);
      expect(await booksAt(OF_SUBSCRIPTION)).toMatchObject({
        books: { ...EMPTY_BOOKS, accepted: 2, unmatched: 2, filtered: 1 },
        balances: true,
      });
    });

    it('does not balance while its delivery of a message may be missing', async ({ api, booksAt }) => {
      await recordMessage(api, { messageId: 'a', acceptedAt: NOON - 1, matched: 2 });
      await recordAll(api, [{ messageId: 'a', subscriptionId: 's-2', status: 'delivered' }]);
      expect(await booksAt(OF_SUBSCRIPTION)).toMatchObject({
        books: { ...EMPTY_BOOKS, accepted: 1, unfinished: 1 },
        balances: false,
      });
    });

    it('is 404 if it is unknown, and reads a deleted one on request', async ({ api, booksAt }) => {
      await recordMessage(api, { messageId: 'a', acceptedAt: NOON - 1 });
      await recordAll(api, [{ messageId: 'a', subscriptionId: 's-3', status: 'delivered' }]);
      expect(await api.call('GET', `${PATH}?subscription=s-3`)).toMatchObject(refusal('not_found'));
      expect(await booksAt(`${PATH}?subscription=s-3&deleted=true`)).toMatchObject({
        books: { matched: 1, delivered: 1 },
        balances: true,
      });
    });

    it('says after several pages what a large message was to it', async ({ api, booksAt }) => {
      const accepted = { acceptedAt: NOON - 2, listedAt: NOON - 2 };
      await recordMessage(api, { messageId: 'large', ...accepted, matched: 2, buckets: 100 });
      await recordAll(
        api,
        [0, 99].map((bucket) => ({ messageId: 'large', subscriptionId: `to-${bucket}`, bucket })),
      );
      const pages = await pagesFrom(booksAt, OF_SUBSCRIPTION);
      const filtered = { ...EMPTY_BOOKS, accepted: 1, unmatched: 1, filtered: 1 };
      expect(pages.map(({ books }) => books)).toEqual([EMPTY_BOOKS, EMPTY_BOOKS, filtered]);
    });
  });
});

const WINDOW = { queue: 'orders', since: NOON, until: NOON + 1000 };

type Accepted = { statuses?: readonly Status[]; buckets?: number };

/** Records a message with deliveries of these statuses, in turn in its buckets. */
const accept = async (api: Api, messageId: string, acceptedAt: number, accepted: Accepted): Promise<void> => {
  const { statuses = [], buckets = 1 } = accepted;
  await recordMessage(api, {
    messageId,
    acceptedAt,
    listedAt: acceptedAt,
    matched: statuses.length,
    buckets,
  });
  await recordAll(
    api,
    statuses.map((status, index) => ({ messageId, acceptedAt, status, bucket: index % buckets })),
  );
};

/** The counts of all parts, none of which reads more than a page of messages and a part of a large one. */
const allParts = async ({ dependencies }: Api, from?: string): Promise<Books[]> => {
  const tally = vi.spyOn(dependencies.deliveryListings, 'tally');
  const parts: Books[] = [];
  let marker = from;
  do {
    tally.mockClear();
    const { books, next } = await countBooks(dependencies, WINDOW, marker);
    const ranges = tally.mock.calls.map(([message, range = toBucketRange(message)]) => range);
    const buckets = ranges.reduce((sum, { first, end }) => sum + end - first, 0);
    expect(buckets).toBeLessThanOrEqual(2 * MAX_COUNTED_BUCKETS);
    parts.push(books);
    marker = next?.marker;
  } while (marker !== undefined);
  return parts;
};

describe('the reconciliation report of a window', () => {
  it('leaves out messages beyond the window, and a listed one whose record has expired', async ({ api }) => {
    for (const acceptedAt of [NOON - 1, NOON, NOON + 999, NOON + 1000])
      await accept(api, `at-${acceptedAt}`, acceptedAt, { statuses: ['delivered'] });
    expect(await allParts(api)).toMatchObject([{ accepted: 2, matched: 2, delivered: 2 }]);
    vi.spyOn(api.messageRecords, 'find').mockResolvedValue(undefined);
    expect(await allParts(api)).toEqual([EMPTY_BOOKS]);
  });

  it('stops after 80 messages or a thousand deliveries, and its parts add up', async ({ api }) => {
    for (let index = 0; index < 1_000; index += 1)
      await accept(api, `m-${index}`, NOON + index, { statuses: ['delivered', 'exhausted'] });
    const parts = await allParts(api);
    const total = { accepted: 1_000, matched: 2_000, delivered: 1_000, exhausted: 1_000 };
    expect(parts.reduce(sumOfBooks)).toMatchObject(total);
    // Two pages of 40 each.
    expect(parts).toHaveLength(13);
  });

  it('names the time up to which it has counted', async ({ api }) => {
    for (let index = 0; index < 100; index += 1) await accept(api, `m-${index}`, NOON + index, {});
    const { books, next } = await countBooks(api.dependencies, WINDOW, undefined);
    expect(next?.countedUntil).toBe(NOON + books.accepted - 1);
  });

  it('reads at most 40 messages in parallel', async ({ api }) => {
    for (let index = 0; index < 80; index += 1) await accept(api, `m-${index}`, NOON + index, {});
    const { messageRecords } = api;
    const find = messageRecords.find.bind(messageRecords);
    let [reading, most] = [0, 0];
    messageRecords.find = async (key) => {
      reading += 1;
      most = Math.max(most, reading);
      const found = await find(key);
      reading -= 1;
      return found;
    };
    expect(await allParts(api)).toMatchObject([{ accepted: 80 }]);
    expect(most).toBeLessThanOrEqual(40);
  });

  it('counts a message with many deliveries in several parts', async ({ api }) => {
    for (let index = 0; index < 5; index += 1)
      await accept(api, `before-${index}`, NOON + index, { statuses: ['delivered'], buckets: 10 });
    const statuses = Array.from({ length: 100 }, (_, index) => (index % 2 ? 'delivered' : 'exhausted'));
    await accept(api, 'large', NOON + 10, { statuses, buckets: 100 });
    await accept(api, 'after', NOON + 11, { statuses: ['pending'] });
    const parts = await allParts(api);
    expect(parts.map(({ accepted }) => accepted)).toEqual([4, 1, 0, 0, 1, 1]);
    expect(parts.every(isBalanced)).toBe(true);
    const total = { accepted: 7, matched: 106, delivered: 55, exhausted: 50, pending: 1 };
    expect(parts.reduce(sumOfBooks)).toMatchObject(total);
  });

  it('begins anew with a message whose place was taken while it was counted', async ({ api }) => {
    await accept(api, 'large', NOON + 10, { statuses: ['delivered'], buckets: 100 });
    const { next } = await countBooks(api.dependencies, WINDOW, undefined);
    await accept(api, 'earlier', NOON, { statuses: ['pending'] });
    const parts = await allParts(api, next?.marker);
    expect(parts.reduce(sumOfBooks)).toMatchObject({ accepted: 2, delivered: 1, pending: 1 });
  });

  it.for(['.', '.x', `.${Buffer.from('{"messageId":"m","next":-1}').toString('base64url')}`, 'x.'])(
    'refuses the marker %s, which it did not make',
    async (marker, { dependencies }) => {
      await expect(countBooks(dependencies, WINDOW, marker)).rejects.toThrow(InvalidMarkerError);
    },
  );
});
