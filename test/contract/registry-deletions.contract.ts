import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Registry, Subscriptions } from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';

type Both = { registry: Registry; subscriptions: Subscriptions };

/** Contract of the deletion of a subscription. */
export const describeRegistryDeletionsContract = (name: string, make: () => Both): void => {
  const withSubscription = async (overrides: Partial<Subscription> = {}) => {
    const { registry, subscriptions } = make();
    const queue = aQueue({ name: randomUUID() });
    await registry.putQueue(queue);
    const subscription = aSubscription({ queue: queue.name, ...overrides });
    await registry.addSubscription(subscription);
    const target = { queue: queue.name, subscriptionId: subscription.id, now: SOME_TIME };
    return { registry, subscriptions, subscription, target };
  };

  describe(`subscriptions marked for deletion in the subscription registry ${name}`, () => {
    it('are still found, with the mark, until they are removed', async () => {
      const { registry, subscriptions, subscription, target } = await withSubscription();
      const marked = { ...subscription, deletedAt: SOME_TIME };
      expect(await registry.markDeleted(target)).toEqual(marked);
      expect(await registry.findSubscription(target.queue, subscription.id)).toEqual(marked);
      expect((await registry.listSubscriptions(target.queue, { limit: 5 })).items).toEqual([marked]);
      const found = await subscriptions.find(target.queue, subscription.id, 'fresh');
      expect(found.subscription).toEqual(marked);
      await registry.removeMarked(target.queue, subscription.id);
      expect(await registry.findSubscription(target.queue, subscription.id)).toBeUndefined();
      await expect(registry.removeMarked(target.queue, subscription.id)).resolves.toBeUndefined();
    });

    it('keep their first mark', async () => {
      const { registry, target } = await withSubscription();
      await registry.markDeleted(target);
      expect(await registry.markDeleted({ ...target, now: SOME_TIME + 1 })).toMatchObject({
        deletedAt: SOME_TIME,
      });
      expect(await registry.markDeleted({ ...target, subscriptionId: 'unknown' })).toBeUndefined();
    });

    it('release their subscriber at once, and do not take it from its next holder', async () => {
      const { registry, subscription, target } = await withSubscription();
      await registry.markDeleted(target);
      expect(await registry.findByDestinations(target.queue, [subscription.destination])).toEqual([
        undefined,
      ]);
      const second = { ...subscription, id: 'second' };
      expect(await registry.addSubscription(second)).toEqual({ kind: 'added' });
      await registry.removeMarked(target.queue, subscription.id);
      expect(await registry.findByDestinations(target.queue, [subscription.destination])).toEqual([second]);
    });

    it('can no longer be changed', async () => {
      const { registry, target } = await withSubscription();
      await registry.markDeleted(target);
      expect(await registry.changeSubscription(target, (current) => ({ ...current, ttl: 5 }))).toEqual({
        kind: 'missing',
      });
    });

    it('leave the subscriber of an expired subscription to its successor', async () => {
      const { registry, subscription, target } = await withSubscription({ ttl: 1, expiresAt: SOME_TIME });
      const second = { ...subscription, id: 'second', createdAt: SOME_TIME, expiresAt: SOME_TIME * 2 };
      await registry.addSubscription(second);
      expect(await registry.markDeleted(target)).toMatchObject({ deletedAt: SOME_TIME });
      expect(await registry.findByDestinations(target.queue, [subscription.destination])).toEqual([second]);
    });

    it('are the only subscriptions that are removed', async () => {
      const { registry, subscription, target } = await withSubscription();
      await registry.removeMarked(target.queue, subscription.id);
      expect(await registry.findSubscription(target.queue, subscription.id)).toEqual(subscription);
    });
  });
};
