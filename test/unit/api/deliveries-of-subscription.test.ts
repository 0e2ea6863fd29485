import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { subscriptionDeliverySchema } from '../../../shared/wire/views/delivery.ts';
import { aSubscription } from '../../support/builders.ts';
import { anAttempt, answered } from '../../support/delivery-builders.ts';
import { faultOf, NOON } from './api-under-test.ts';
import { apiWithOrders, listing, pageOf, recordAll, recordMessage } from './recorded.ts';

const PATH = '/v2/queues/orders/subscriptions/s-1/deliveries';

const page = pageOf({ deliveries: z.array(subscriptionDeliverySchema.strict()) });

const underTest = async (...overrides: Parameters<typeof apiWithOrders>) => {
  const api = await apiWithOrders(...overrides);
  await api.registry.addSubscription(aSubscription({ queue: 'orders', id: 's-1' }));
  /** Records the message `m-<minute>`, accepted so many minutes before noon, with its delivery to a subscription. */
  const record = async (
    minute: number,
    {
      subscriptionId = 's-1',
      type,
      ...delivery
    }: Parameters<typeof recordAll>[1][number] & { type?: string },
  ): Promise<void> => {
    const acceptedAt = NOON - minute * 60_000;
    const messageId = `m-${minute}`;
    await recordMessage(api, { messageId, acceptedAt, ...(type !== undefined && { type }) });
    await recordAll(api, [{ messageId, subscriptionId, acceptedAt, ...delivery }]);
  };
  return { ...api, record, list: listing(api, page) };
};

describe('GET /v2/queues/{queue}/subscriptions/{subscription}/deliveries', () => {
  it('lists all deliveries of the last 24 hours, newest message first, with their times', async () => {
    const { record, list } = await underTest();
    await record(1, { status: 'pending', attempts: [] });
    await record(24 * 60 + 1, { status: 'delivered' });
    await record(2, { subscriptionId: 's-2', status: 'delivered' });
    const at = NOON - 3 * 60_000;
    const success = anAttempt({
      number: 2,
      outcome: 'delivered',
      result: answered(200),
      startedAt: at + 5_000,
      durationMs: 30,
    });
    await record(3, {
      type: 'order.created',
      status: 'delivered',
      attempts: [anAttempt({ startedAt: at, durationMs: 120 }), success],
    });
    await record(4, { status: 'exhausted', reason: 'retries_exhausted', attempts: [anAttempt()] });
    const { deliveries, links } = await list(PATH);
    expect(links).toEqual([]);
    expect(deliveries).toMatchObject([
      { messageId: 'm-1', subscriptionId: 's-1', status: 'pending', attemptCount: 0 },
      {
        messageId: 'm-3',
        status: 'delivered',
        messageType: 'order.created',
        attemptCount: 2,
        lastAttempt: { number: 2, outcome: 'delivered', statusCode: 200 },
        durationMs: 30,
        deliveredAfterMs: 5_030,
      },
      { messageId: 'm-4', status: 'exhausted', reason: 'retries_exhausted', durationMs: 120 },
    ]);
    expect(deliveries[0]).not.toHaveProperty('durationMs');
    expect(deliveries[2]).not.toHaveProperty('deliveredAfterMs');
  });

  it('measures a success that came after its lease was lost, and never less than nothing', async () => {
    const { record, list } = await underTest();
    const success = { outcome: 'delivered', durationMs: 40 } as const;
    const late = anAttempt({ ...success, startedAt: NOON - 60_000 + 9_000 });
    await record(1, { status: 'delivered', attempts: [anAttempt()], lateResults: [late] });
    // The clocks of two functions differ.
    const early = anAttempt({ ...success, startedAt: NOON - 2 * 60_000 - 500 });
    await record(2, { status: 'delivered', attempts: [early] });
    expect((await list(PATH)).deliveries).toMatchObject([
      { deliveredAfterMs: 9_040, durationMs: 120 },
      { deliveredAfterMs: 0 },
    ]);
  });

  it('fills each page from the messages of the queue, and goes on through links', async () => {
    const { record, list } = await underTest();
    for (let minute = 1; minute <= 60; minute += 1)
      await record(minute, { subscriptionId: minute % 3 === 0 ? 's-1' : 's-2', status: 'delivered' });
    const seen: string[][] = [];
    const until = new Date(NOON - 60_000).toISOString();
    for (let path: string | undefined = `${PATH}?limit=8&until=${until}`; path !== undefined;) {
      const { deliveries, links } = await list(path);
      seen.push(deliveries.map(({ messageId }) => messageId));
      path = links[0]?.href;
    }
    expect(seen.flat()).toEqual(Array.from({ length: 20 }, (_, index) => `m-${3 * index + 3}`));
    expect(seen.map((messages) => messages.length)).toEqual([8, 8, 4]);
  });

  it.each([
    [100, 2],
    [5, 4],
  ])('reads a bounded number of messages for a page of up to %i, which may be empty', async (limit, most) => {
    const { record, list } = await underTest();
    for (let minute = 1; minute <= 150; minute += 1)
      await record(minute, { subscriptionId: 's-2', status: 'delivered' });
    await record(155, { status: 'delivered' });
    const pages: number[] = [];
    for (let path: string | undefined = `${PATH}?limit=${limit}`; path !== undefined;) {
      const { deliveries, links } = await list(path);
      pages.push(deliveries.length);
      path = links[0]?.href;
    }
    expect(pages.slice(0, -1)).toEqual(pages.slice(1).map(() => 0));
    expect(pages).toHaveLength(most);
    expect(pages.at(-1)).toBe(1);
  });

  it('ends with a short page of the listing, which looked through many hours', async () => {
    const { list, dependencies } = await underTest();
    let reads = 0;
    dependencies.messageListings.newest = () => {
      reads += 1;
      return Promise.resolve({ items: [], marker: 'next' });
    };
    expect((await list(PATH)).links).toHaveLength(1);
    expect(reads).toBe(1);
  });

  it('is 404 for an unknown queue or subscription, and reads the records of a deleted one on request', async () => {
    const { call, record, list } = await underTest();
    await record(1, { subscriptionId: 's-3', status: 'delivered' });
    for (const path of [
      '/v2/queues/bills/subscriptions/s-1/deliveries',
      PATH.replace('s-1', 's-3'),
      PATH.replace('s-1', 'not%20an%20id'),
    ])
      expect(await call('GET', path), path).toMatchObject({ status: 404, body: faultOf('not_found') });
    const { deliveries } = await list(`${PATH.replace('s-1', 's-3')}?deleted=true`);
    expect(deliveries).toMatchObject([{ messageId: 'm-1', subscriptionId: 's-3' }]);
  });
});
