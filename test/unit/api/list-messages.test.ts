import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { messageSummarySchema } from '../../../shared/wire/views/message.ts';
import { aMessage } from '../../support/builders.ts';
import { NOON } from './api-under-test.ts';
import { apiWithOrders, listing, pageOf, recordAll, recordMessage } from './recorded.ts';

const PATH = '/v2/queues/orders/messages';
const HOUR = 3_600_000;

const page = pageOf({ messages: z.array(messageSummarySchema.strict()) });

const underTest = async () => {
  const api = await apiWithOrders();
  return { ...api, list: listing(api, page) };
};

describe('GET /v2/queues/{queue}/messages', () => {
  it('lists the messages of the last 24 hours with their delivery states, newest first, without data', async () => {
    const api = await underTest();
    const kept = { kind: 'inline', message: aMessage({ data: '"not shown"' }) } as const;
    await recordMessage(api, { messageId: 'too-old', acceptedAt: NOON - 24 * HOUR - 1 });
    await recordMessage(api, { messageId: 'old', acceptedAt: NOON - 24 * HOUR, matched: 0, filtered: 3 });
    await recordMessage(api, {
      messageId: 'new',
      type: 'order.created',
      acceptedAt: NOON - 1,
      matched: 2,
      duplicates: 1,
      body: kept,
    });
    await recordAll(api, [
      { messageId: 'new', subscriptionId: 's-1', status: 'delivered' },
      { messageId: 'new', subscriptionId: 's-2', status: 'retrying' },
    ]);
    const none = { pending: 0, retrying: 0, delivered: 0, rejected: 0, exhausted: 0, cancelled: 0 };
    expect(await api.list(PATH)).toEqual({
      messages: [
        {
          queue: 'orders',
          id: 'new',
          type: 'order.created',
          acceptedAt: '2026-11-21T11:59:59.999Z',
          duplicates: 1,
          matched: 2,
          filtered: 0,
          deliveries: { ...none, delivered: 1, retrying: 1 },
          bodyKept: true,
        },
        {
          queue: 'orders',
          id: 'old',
          acceptedAt: '2026-11-20T12:00:00.000Z',
          duplicates: 0,
          matched: 0,
          filtered: 3,
          deliveries: none,
          bodyKept: false,
        },
      ],
      links: [],
    });
  });

  it('does not count the deliveries of a message with thousands of subscriptions', async () => {
    let counted = 0;
    const api = await apiWithOrders();
    const { deliveryListings } = api.dependencies;
    const counting = await apiWithOrders({
      messageRecords: api.messageRecords,
      messageListings: api.dependencies.messageListings,
      deliveryListings: {
        ...deliveryListings,
        tally: (...given) => {
          counted += 1;
          return deliveryListings.tally(...given);
        },
      },
    });
    await recordMessage(api, { messageId: 'small', acceptedAt: NOON - 2 });
    await recordMessage(api, { messageId: 'large', acceptedAt: NOON - 1, matched: 10_000, buckets: 40 });
    const { messages } = page.parse((await counting.call('GET', PATH)).body);
    expect(messages.map(({ id, matched, deliveries }) => [id, matched, deliveries !== undefined])).toEqual([
      ['large', 10_000, false],
      ['small', 1, true],
    ]);
    expect(counted).toBe(1);
  });

  it('pages over the same window while new messages are accepted', async () => {
    const api = await underTest();
    for (let index = 0; index < 5; index += 1)
      await recordMessage(api, { messageId: `m-${index}`, acceptedAt: NOON - 10 * HOUR + index });
    const found: string[] = [];
    for (let path: string | undefined = `${PATH}?limit=2`; path !== undefined;) {
      const { messages, links } = await api.list(path);
      found.push(...messages.map(({ id }) => id));
      await recordMessage(api, { messageId: `late-${found.length}`, acceptedAt: NOON });
      path = links[0]?.href;
    }
    expect(found).toEqual(['m-4', 'm-3', 'm-2', 'm-1', 'm-0']);
  });

  it('has at most 50 messages on a page, because it reads the deliveries of each', async () => {
    const api = await underTest();
    for (let index = 0; index < 60; index += 1)
      await recordMessage(api, { messageId: `m-${index}`, acceptedAt: NOON - 60 + index });
    const { messages, links } = await api.list(`${PATH}?limit=100`);
    expect(messages).toHaveLength(50);
    expect((await api.list(links[0]?.href ?? PATH)).messages).toHaveLength(10);
  });

  it('shows when the data of a message was erased', async () => {
    const api = await underTest();
    await recordMessage(api, { messageId: 'm-1', acceptedAt: NOON - 1, erasedAt: NOON });
    const { messages } = await api.list(PATH);
    expect(messages).toMatchObject([{ bodyKept: false, erasedAt: '2026-11-21T12:00:00.000Z' }]);
  });
});
