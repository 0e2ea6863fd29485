import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type {
  Freshness,
  Registry,
  SubscriptionPage,
  Subscriptions,
} from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { listed } from '../support/in-memory/in-memory-subscriptions.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { removeSubscription } from '../support/remove-subscription.ts';

export type SubscriptionsUnderTest = {
  subscriptions: Subscriptions;
  /** Registry of the same store, to write what `subscriptions` reads. */
  registry: Registry;
  /** Sets the time of the clock. */
  setTime: (now: number) => void;
};

const bothWays: Freshness[] = ['cached', 'fresh'];
const failing = { since: SOME_TIME, failures: 1 };
const gone = { reason: 'gone', at: SOME_TIME } as const;

/** Contract of the subscriptions that dispatch and deliver read, with any caching. */
export const describeSubscriptionsContract = (name: string, make: () => SubscriptionsUnderTest): void => {
  describe(`subscriptions ${name}`, () => {
    const kept = async (count: number) => {
      const { subscriptions, registry, setTime } = make();
      const queue = aQueue({ name: randomUUID(), metadata: { colour: 'grün' }, retryPolicy: {} });
      const all = Array.from({ length: count }, (_, index) =>
        aSubscription({
          queue: queue.name,
          id: String(index).padStart(4, '0'),
          subscriber: `https://s.test/${index}`,
        }),
      );
      await registry.ensureQueue(queue);
      for (const subscription of all) await registry.addSubscription(subscription);
      setTime(SOME_TIME);
      return { subscriptions, registry, setTime, queue, all };
    };

    it.each(bothWays)(
      'list a queue with its subscriptions and the time of the read (%s)',
      async (freshness) => {
        const { subscriptions, queue, all } = await kept(3);
        const page = await subscriptions.page(queue.name, freshness);
        expect(page).toEqual({ life: queue.createdAt, subscriptions: all.map(listed), readAt: SOME_TIME });
      },
    );

    it.each([
      ['all', 'all'],
      ['failed', 'failed'],
      ['some', undefined],
      [undefined, undefined],
    ])('list which bodies a queue keeps: %j gives %j', async (given, retainMessages) => {
      const { subscriptions, registry, queue } = await kept(1);
      const metadata = { colour: 'grün', ...(given === undefined ? {} : { _retain_messages: given }) };
      await registry.putQueue({ ...queue, metadata });
      expect((await subscriptions.page(queue.name, 'fresh'))?.retainMessages).toBe(retainMessages);
    });

    it.each([
      [15, 15],
      [14, undefined],
      [undefined, undefined],
    ])('list for how many days a queue keeps records: %j gives %j', async (given, retentionDays) => {
      const { subscriptions, registry, queue } = await kept(1);
      await registry.putQueue({ ...queue, metadata: given === undefined ? {} : { _retention_days: given } });
      expect((await subscriptions.page(queue.name, 'fresh'))?.retentionDays).toBe(retentionDays);
    });

    it.each(bothWays)('list expired and disabled subscriptions too (%s)', async (freshness) => {
      const { subscriptions, registry, queue, all } = await kept(1);
      const expired = aSubscription({
        queue: queue.name,
        id: 'expired',
        subscriber: 'https://e.test',
        ttl: 60,
        expiresAt: 60_000,
      });
      await registry.addSubscription(expired);
      await subscriptions.disable(queue.name, '0000', gone);
      const page = await subscriptions.page(queue.name, freshness);
      expect(page?.subscriptions).toEqual([...all, expired].map(listed));
    });

    it.each(bothWays)(
      'list the fields that decide whether a message goes to a subscription (%s)',
      async (freshness) => {
        const { subscriptions, registry, queue } = await kept(0);
        const interests = { event_types: ['a', 'b'], filter: { total: [{ numeric: ['>', 5] }] } };
        const subscription = aSubscription({
          queue: queue.name,
          options: { ...interests, post_data: 'x', post_headers: { a: 'b' }, raw_delivery: true },
          createdAt: 1,
          changedAt: 2,
          ttl: 60,
          expiresAt: SOME_TIME * 2,
          unconfirmed: { tokenHash: 'abc', at: 3 },
          confirmedAt: 4,
          failing: { since: 5, failures: 6 },
          secrets: [{ sealed: 'sealed' }],
          formerly: { event_types: ['c'], until: 7 },
        });
        await registry.addSubscription(subscription);
        await subscriptions.disable(queue.name, subscription.id, gone);
        expect((await subscriptions.page(queue.name, freshness))?.subscriptions).toEqual([
          {
            id: subscription.id,
            options: interests,
            createdAt: 1,
            expiresAt: SOME_TIME * 2,
            unconfirmed: { tokenHash: 'abc', at: 3 },
            confirmedAt: 4,
            failing: { since: 5, failures: 6 },
            formerly: { event_types: ['c'], until: 7 },
          },
        ]);
      },
    );

    it.each(bothWays)('are listed page by page, each once (%s)', async (freshness) => {
      const { subscriptions, registry, queue } = await kept(0);
      // 24 times 50 KB: a DynamoDB response has up to 1 MB.
      const large = Array.from({ length: 24 }, (_, index) =>
        aSubscription({
          queue: queue.name,
          id: `large-${index + 10}`,
          subscriber: `https://l.test/${index}`,
          options: { post_data: 'x'.repeat(50_000) },
        }),
      );
      for (const subscription of large) await registry.addSubscription(subscription);
      const pages: SubscriptionPage[] = [];
      for (let after: string | undefined; pages.length === 0 || after !== undefined;) {
        const page = await subscriptions.page(queue.name, freshness, after);
        if (page !== undefined) pages.push(page);
        after = page?.until;
      }
      expect(pages.flatMap((page) => page.subscriptions)).toEqual(large.map(listed));
      expect(pages.length).toBeGreaterThan(1);
      for (const page of pages) expect(page).toMatchObject({ life: queue.createdAt, readAt: SOME_TIME });
      expect(pages.slice(0, -1).map((page) => page.until)).toEqual(
        pages.slice(0, -1).map((page) => page.subscriptions.at(-1)?.id),
      );
    });

    it.each(bothWays)('have no page for a deleted queue (%s)', async (freshness) => {
      const { subscriptions, registry, queue } = await kept(2);
      expect(await subscriptions.page(queue.name, freshness, '0000')).toMatchObject({
        subscriptions: [{ id: '0001' }],
      });
      for (const id of ['0000', '0001']) await removeSubscription(registry, queue.name, id);
      await registry.deleteQueue(queue.name, SOME_TIME);
      expect(await subscriptions.page(queue.name, 'fresh', '0000')).toBeUndefined();
    });

    it.each(bothWays)('are found with their queue (%s)', async (freshness) => {
      const { subscriptions, queue, all } = await kept(2);
      const found = await subscriptions.find(queue.name, '0001', freshness);
      expect(found).toEqual({ queue, subscription: all[1] });
    });

    it.each(bothWays)('distinguish a missing subscription from a missing queue (%s)', async (freshness) => {
      const { subscriptions, queue } = await kept(1);
      expect(await subscriptions.find(queue.name, 'none', freshness)).toEqual({
        queue,
        subscription: undefined,
      });
      expect(await subscriptions.find('none', '0000', freshness)).toEqual({
        queue: undefined,
        subscription: undefined,
      });
      expect(await subscriptions.page('none', freshness)).toBeUndefined();
    });

    it.each(bothWays)('never cache that something is missing (%s)', async (freshness) => {
      const { subscriptions, registry } = make();
      const queue = aQueue({ name: randomUUID() });
      const subscription = aSubscription({ queue: queue.name });
      expect(await subscriptions.page(queue.name, freshness)).toBeUndefined();
      expect(await subscriptions.find(queue.name, subscription.id, freshness)).toEqual({});
      await registry.putQueue(queue);
      expect(await subscriptions.page(queue.name, freshness)).toMatchObject({
        life: queue.createdAt,
        subscriptions: [],
      });
      expect(await subscriptions.find(queue.name, subscription.id, freshness)).toEqual({ queue });
      await registry.addSubscription(subscription);
      expect(await subscriptions.page(queue.name, freshness)).toMatchObject({
        subscriptions: [listed(subscription)],
      });
      expect(await subscriptions.find(queue.name, subscription.id, freshness)).toEqual({
        queue,
        subscription,
      });
    });

    it('show every change of a subscription at once when read fresh', async () => {
      const { subscriptions, registry, queue, all } = await kept(2);
      for (const freshness of bothWays) await subscriptions.find(queue.name, '0000', freshness);
      await subscriptions.page(queue.name, 'cached');
      await removeSubscription(registry, queue.name, '0000');
      expect((await subscriptions.find(queue.name, '0000', 'fresh')).subscription).toBeUndefined();
      expect((await subscriptions.page(queue.name, 'fresh'))?.subscriptions).toEqual(
        all.slice(1).map(listed),
      );
    });

    it('show the first reason after disabling', async () => {
      const { subscriptions, queue, all } = await kept(1);
      for (const freshness of bothWays) await subscriptions.find(queue.name, '0000', freshness);
      await subscriptions.disable(queue.name, '0000', gone);
      await subscriptions.disable(queue.name, '0000', { ...gone, at: SOME_TIME + 1 });
      const [subscription] = all.map((one): Subscription => ({ ...one, disabled: gone }));
      expect((await subscriptions.find(queue.name, '0000', 'cached')).subscription).toEqual(subscription);
    });

    it('show a health change in cached pages', async () => {
      const { subscriptions, queue } = await kept(2);
      const cached = (after?: string) => subscriptions.page(queue.name, 'cached', after);
      for (const after of [undefined, '0000']) await cached(after);
      await subscriptions.changeHealth(queue.name, '0001', { kind: 'begin', failing });
      expect((await cached())?.subscriptions[1]).toMatchObject({ failing });
      expect((await cached('0000'))?.subscriptions[0]).toMatchObject({ failing });
    });

    it('do not recreate a removed subscription by disabling it', async () => {
      const { subscriptions, registry, queue } = await kept(1);
      await removeSubscription(registry, queue.name, '0000');
      await subscriptions.disable(queue.name, '0000', gone);
      expect((await subscriptions.find(queue.name, '0000', 'fresh')).subscription).toBeUndefined();
    });
  });
};
