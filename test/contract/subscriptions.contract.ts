import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Freshness, Registry, Subscriptions } from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { removeSubscription } from '../support/remove-subscription.ts';

export type SubscriptionsUnderTest = {
  subscriptions: Subscriptions;
  /** On the same store: what it writes, the other one reads. */
  registry: Registry;
  /** What the clock says from now on. */
  setTime: (now: number) => void;
};

const bothWays: Freshness[] = ['cached', 'fresh'];
const gone = { reason: 'gone', at: SOME_TIME } as const;

/** What dispatch and deliver rely on, whatever is cached. */
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

    it.each(bothWays)('lists a queue with its subscriptions and says when (%s)', async (freshness) => {
      const { subscriptions, queue, all } = await kept(3);
      const list = await subscriptions.list(queue.name, freshness);
      expect(list).toEqual({ queue, subscriptions: all, readAt: SOME_TIME });
    });

    it.each(bothWays)('lists the expired and the disabled too (%s)', async (freshness) => {
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
      const list = await subscriptions.list(queue.name, freshness);
      expect(list?.subscriptions).toEqual([...all.map((one) => ({ ...one, disabled: gone })), expired]);
    });

    it.each(bothWays)('lists more subscriptions than go into one answer (%s)', async (freshness) => {
      const { subscriptions, registry, queue } = await kept(0);
      // 24 of 50 KB: DynamoDB answers with 1 MB at a time.
      const large = Array.from({ length: 24 }, (_, index) =>
        aSubscription({
          queue: queue.name,
          id: `large-${index + 10}`,
          subscriber: `https://l.test/${index}`,
          options: { post_data: 'x'.repeat(50_000) },
        }),
      );
      for (const subscription of large) await registry.addSubscription(subscription);
      expect((await subscriptions.list(queue.name, freshness))?.subscriptions).toEqual(large);
    });

    it.each(bothWays)('finds a subscription beside its queue (%s)', async (freshness) => {
      const { subscriptions, queue, all } = await kept(2);
      const found = await subscriptions.find(queue.name, '0001', freshness);
      expect(found).toEqual({ queue, subscription: all[1] });
    });

    it.each(bothWays)('tells a missing subscription from a missing queue (%s)', async (freshness) => {
      const { subscriptions, queue } = await kept(1);
      expect(await subscriptions.find(queue.name, 'none', freshness)).toEqual({
        queue,
        subscription: undefined,
      });
      expect(await subscriptions.find('none', '0000', freshness)).toEqual({
        queue: undefined,
        subscription: undefined,
      });
      expect(await subscriptions.list('none', freshness)).toBeUndefined();
    });

    it.each(bothWays)('never holds on to absence (%s)', async (freshness) => {
      const { subscriptions, registry } = make();
      const queue = aQueue({ name: randomUUID() });
      const subscription = aSubscription({ queue: queue.name });
      expect(await subscriptions.list(queue.name, freshness)).toBeUndefined();
      expect(await subscriptions.find(queue.name, subscription.id, freshness)).toEqual({});
      await registry.putQueue(queue);
      expect(await subscriptions.list(queue.name, freshness)).toMatchObject({ queue, subscriptions: [] });
      expect(await subscriptions.find(queue.name, subscription.id, freshness)).toEqual({ queue });
      await registry.addSubscription(subscription);
      expect(await subscriptions.list(queue.name, freshness)).toMatchObject({
        subscriptions: [subscription],
      });
      expect(await subscriptions.find(queue.name, subscription.id, freshness)).toEqual({
        queue,
        subscription,
      });
    });

    it('sees every change of a subscription at once where it reads fresh', async () => {
      const { subscriptions, registry, queue, all } = await kept(2);
      for (const freshness of bothWays) await subscriptions.find(queue.name, '0000', freshness);
      await subscriptions.list(queue.name, 'cached');
      await removeSubscription(registry, queue.name, '0000');
      expect((await subscriptions.find(queue.name, '0000', 'fresh')).subscription).toBeUndefined();
      expect((await subscriptions.list(queue.name, 'fresh'))?.subscriptions).toEqual([all[1]]);
    });

    it('sees what it disabled itself, for the first reason given', async () => {
      const { subscriptions, queue, all } = await kept(1);
      for (const freshness of bothWays) await subscriptions.find(queue.name, '0000', freshness);
      await subscriptions.list(queue.name, 'cached');
      await subscriptions.disable(queue.name, '0000', gone);
      await subscriptions.disable(queue.name, '0000', { ...gone, at: SOME_TIME + 1 });
      const [subscription] = all.map((one): Subscription => ({ ...one, disabled: gone }));
      expect((await subscriptions.find(queue.name, '0000', 'cached')).subscription).toEqual(subscription);
      expect((await subscriptions.list(queue.name, 'cached'))?.subscriptions).toEqual([subscription]);
    });

    it('does not bring back a subscription by disabling it', async () => {
      const { subscriptions, registry, queue } = await kept(1);
      await removeSubscription(registry, queue.name, '0000');
      await subscriptions.disable(queue.name, '0000', gone);
      expect((await subscriptions.find(queue.name, '0000', 'fresh')).subscription).toBeUndefined();
    });
  });
};
