import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { EMPTY_BOOKS, sumOfBooks } from '../../../shared/domain/delivery/books.ts';
import { booksViewSchema } from '../../../shared/wire/views/books.ts';
import { aSubscription } from '../../support/builders.ts';
import { type apiUnderTest, faultOf, NOON } from './api-under-test.ts';
import { apiWithOrders, recordAll, recordMessage } from './recorded.ts';

const PATH = '/v2/queues/orders/books';
const HOUR = 3_600_000;

const page = booksViewSchema.extend({ links: z.array(z.object({ href: z.string() })) }).strict();

const booksAt = async ({ call }: Pick<ReturnType<typeof apiUnderTest>, 'call'>, path: string) => {
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
      for (let path: string | undefined = `${PATH}?since=2026-11-21T00:00:00Z${about}`; path !== undefined;) {
        const { since, until, books, links } = await booksAt(api, path);
        windows.add(`${since} ${until}`);
        pages += 1;
        total = sumOfBooks(total, books);
        path = links[0]?.href;
        if (path !== undefined) expect(path).toContain(about);
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
      expect(await api.call('GET', `${PATH}?subscription=s-3`)).toMatchObject({
        status: 404,
        body: faultOf('not_found'),
      });
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
      for (let path: string | undefined = OF_SUBSCRIPTION; path !== undefined;) {
        const { books, links } = await booksAt(api, path);
        pages.push(books);
        path = links[0]?.href;
      }
      const filtered = { ...EMPTY_BOOKS, accepted: 1, unmatched: 1, filtered: 1 };
      expect(pages).toEqual([EMPTY_BOOKS, EMPTY_BOOKS, filtered]);
    });
  });
});
