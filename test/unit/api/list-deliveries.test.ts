import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deliverySummarySchema } from '../../../shared/wire/views/delivery-summary.ts';
import { aDelivery, anAttempt, answered } from '../../support/delivery-builders.ts';
import { inMemoryDeliveryListings } from '../../support/in-memory/in-memory-deliveries.ts';
import { faultOf, NOON } from './api-under-test.ts';
import { apiWithOrders, listing, pageOf, recordAll } from './recorded.ts';

const PATH = '/v2/queues/orders/deliveries';
const MINUTE = 60_000;

const page = pageOf({ deliveries: z.array(deliverySummarySchema.strict()) });

const underTest = async () => {
  const api = await apiWithOrders();
  const list = listing(api, page);
  /** The message ids of each page, in the order listed. */
  const walk = async (first: string): Promise<string[][]> => {
    const pages: string[][] = [];
    for (let path: string | undefined = first; path !== undefined;) {
      const { deliveries, links } = await list(path);
      pages.push(deliveries.map(({ messageId }) => messageId));
      path = links[0]?.href;
    }
    return pages;
  };
  return { ...api, list, walk };
};

describe('GET /v2/queues/{queue}/deliveries', () => {
  it('lists deliveries that are not delivered, newest first', async () => {
    const api = await underTest();
    await recordAll(api, [
      {
        messageId: 'old',
        subscriptionId: 's-1',
        attempts: [
          anAttempt({ startedAt: NOON + 1, result: answered(503, 'not shown') }),
          anAttempt({
            number: 2,
            phase: 'immediate',
            startedAt: NOON + 2,
            result: { kind: 'unanswered', error: 'timeout' },
          }),
        ],
        next: { number: 3, phase: 'immediate', dueAt: NOON + 9, by: 'sqs_delay' },
      },
      {
        messageId: 'new',
        subscriptionId: 's-2',
        status: 'cancelled',
        reason: 'disabled',
        acceptedAt: NOON + MINUTE,
      },
      { messageId: 'delivered', status: 'delivered' },
      { messageId: 'pending', status: 'pending' },
    ]);
    expect(await api.list(PATH)).toEqual({
      deliveries: [
        {
          queue: 'orders',
          messageId: 'new',
          subscriptionId: 's-2',
          status: 'cancelled',
          reason: 'disabled',
          acceptedAt: '2026-11-21T12:01:00.000Z',
          attemptCount: 0,
        },
        {
          queue: 'orders',
          messageId: 'old',
          subscriptionId: 's-1',
          status: 'retrying',
          acceptedAt: '2026-11-21T12:00:00.000Z',
          attemptCount: 2,
          lastAttempt: {
            number: 2,
            startedAt: '2026-11-21T12:00:00.002Z',
            outcome: 'failed',

            error: 'timeout',
          },
          nextAttemptAt: '2026-11-21T12:00:00.009Z',
        },
      ],
      links: [],
    });
  });

  it('includes deliveries that wait for a rate limit', async () => {
    const api = await underTest();
    const next = { number: 1, phase: 'initial', dueAt: NOON + 9, by: 'sqs_delay' } as const;
    await recordAll(api, [
      {
        messageId: 'waiting',
        status: 'pending',
        attempts: [],
        next,
        slot: { at: NOON + MINUTE, epoch: 'e' },
      },
    ]);
    for (const path of [PATH, `${PATH}?status=pending`]) {
      const { deliveries } = await api.list(path);
      expect(deliveries).toMatchObject([{ messageId: 'waiting', nextAttemptAt: '2026-11-21T12:01:00.000Z' }]);
    }
  });

  it('pages through all deliveries by links that keep the selection', async () => {
    const api = await underTest();
    await recordAll(
      api,
      Array.from({ length: 25 }, (_, index) => ({
        messageId: `m-${String(index).padStart(2, '0')}`,
        subscriptionId: index % 2 === 0 ? 'even' : 'odd',
        acceptedAt: NOON + index * MINUTE,
        status: index < 20 ? ('rejected' as const) : ('exhausted' as const),
      })),
    );
    const until = encodeURIComponent('2026-11-21T13:14:00+01:00');
    const pages = await api.walk(
      `${PATH}?status=rejected&subscription=even&since=2026-11-21T12:04:00Z&until=${until}&limit=2`,
    );
    expect(pages).toEqual([['m-12', 'm-10'], ['m-08', 'm-06'], ['m-04']]);
    expect((await api.walk(PATH)).map((one) => one.length)).toEqual([10, 10, 5]);
    expect((await api.walk(`${PATH}?limit=100`)).map((one) => one.length)).toEqual([25]);
  });

  it('returns a page of 100 from 100,000 deliveries', async () => {
    const records = new Map(
      Array.from({ length: 100_000 }, (_, index) => [
        String(index),
        aDelivery({
          key: { queue: 'orders', messageId: `m-${index}`, subscriptionId: 's', bucket: 0 },
          acceptedAt: NOON + index,
          status: 'retrying',
        }),
      ]),
    );
    const { call } = await apiWithOrders({ deliveryListings: inMemoryDeliveryListings({ records }) });
    const { deliveries, links } = page.parse((await call('GET', `${PATH}?limit=100`)).body);
    expect(deliveries.map(({ messageId }) => messageId)).toEqual(
      Array.from({ length: 100 }, (_, index) => `m-${99_999 - index}`),
    );
    expect(links).toHaveLength(1);
  });

  it('leaves out listed deliveries that no longer match or no longer exist', async () => {
    const { messageRecords, deliveries, dependencies } = await apiWithOrders();
    const [ended, delivered, gone] = await recordAll({ deliveries }, [
      { messageId: 'a' },
      { messageId: 'b' },
      { messageId: 'c' },
    ]);
    const stale = [ended, delivered, gone].flatMap((one) =>
      one === undefined ? [] : [{ key: one.key, acceptedAt: NOON, status: one.status }],
    );
    for (const [delivery, end] of [
      [ended, { status: 'exhausted', reason: 'retries_exhausted' }],
      [delivered, { status: 'delivered' }],
    ] as const) {
      if (delivery === undefined) continue;
      const change = { ...end, updatedAt: NOON, expiresAt: NOON };
      await deliveries.write({ name: 'record', key: delivery.key, expect: { kind: 'present' }, change });
    }
    const { call } = await apiWithOrders({
      messageRecords,
      deliveryListings: {
        ...dependencies.deliveryListings,
        newest: () => Promise.resolve({ items: stale }),
        records: (keys) =>
          dependencies.deliveryListings.records(keys.filter(({ messageId }) => messageId !== 'c')),
      },
    });
    const idsIn = async (path: string) =>
      page.parse((await call('GET', path)).body).deliveries.map(({ messageId }) => messageId);
    expect(await idsIn(PATH)).toEqual(['a']);
    expect(await idsIn(`${PATH}?status=retrying`)).toEqual([]);
  });

  it('is empty for a queue without deliveries', async () => {
    expect(await (await underTest()).list(PATH)).toEqual({ deliveries: [], links: [] });
  });

  it('accepts times in lower case and with nanoseconds', async () => {
    await (await underTest()).list(`${PATH}?since=2026-11-21t12:00:00.123456789z`);
  });

  it('refuses the marker of another selection', async () => {
    const api = await underTest();
    await recordAll(api, [{}, {}, {}]);
    const { links } = await api.list(`${PATH}?limit=1`);
    const marker = new URL(links[0]?.href ?? '', 'https://a.test').searchParams.get('marker') ?? '';
    for (const path of [`${PATH}?status=retrying`, `${PATH}?since=2026-11-21T12:00:00Z`])
      expect(await api.call('GET', `${path}&marker=${marker}`)).toMatchObject({
        status: 400,
        body: faultOf('invalid_request', 'marker'),
      });
    expect(await api.call('GET', `/v2/queues/bills/deliveries?deleted=true&marker=${marker}`)).toMatchObject({
      status: 400,
    });
  });
});
