import { parseDestination, subscriberOf } from '../../shared/domain/subscription/destination.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import { QueueMissingError, type Registry } from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { removeSubscription } from '../support/remove-subscription.ts';

/** Contract of the registry, which administration uses. */
export const describeRegistryContract = (name: string, make: () => Registry): void => {
  describe(`queues in the subscription registry ${name}`, () => {
    it('creates a queue, and replaces everything except the time of its creation', async () => {
      const registry = make();
      const queue = aQueue({
        name: randomUUID(),
        metadata: { größe: [1, { '': null }, 1e300] },
        retryPolicy: { minimum_delay: 2 },
        createdAt: 1,
      });
      expect(await registry.findQueue(queue.name)).toBeUndefined();
      expect(await registry.putQueue(queue)).toEqual({ kind: 'created' });
      expect(await registry.findQueue(queue.name)).toEqual(queue);
      const plain = aQueue({ name: queue.name, metadata: { b: 2 }, createdAt: 2 });
      expect(await registry.putQueue(plain)).toEqual({ kind: 'replaced', before: queue });
      expect(await registry.findQueue(queue.name)).toEqual({ ...plain, createdAt: 1 });
    });

    it('distinguishes an empty retry policy from none', async () => {
      const registry = make();
      const queue = aQueue({ name: randomUUID(), retryPolicy: {} });
      await registry.putQueue(queue);
      expect(await registry.findQueue(queue.name)).toEqual(queue);
      expect((await registry.findQueue(queue.name))?.retryPolicy).toEqual({});
    });

    it('does not change a queue that must only exist', async () => {
      const registry = make();
      const queue = aQueue({ name: randomUUID(), metadata: { a: 1 } });
      await registry.ensureQueue(queue);
      await registry.ensureQueue({ ...queue, metadata: {}, createdAt: 5 });
      expect(await registry.findQueue(queue.name)).toEqual(queue);
    });

    it('keeps the subscriptions of a queue that is replaced', async () => {
      const { registry, subscription } = await withSubscription(make());
      await registry.putQueue(aQueue({ name: subscription.queue, metadata: { a: 2 } }));
      expect(await registry.findSubscription(subscription.queue, subscription.id)).toEqual(subscription);
    });

    it('deletes a queue with all of its subscriptions', async () => {
      const registry = make();
      const queue = aQueue({ name: randomUUID() });
      await registry.putQueue(queue);
      const all = Array.from({ length: 120 }, (_, index) =>
        aSubscription({ queue: queue.name, id: `s-${index}`, subscriber: `https://s.test/${index}` }),
      );
      for (const subscription of all) await registry.addSubscription(subscription);
      await registry.deleteQueue(queue.name, SOME_TIME);
      expect(await registry.findQueue(queue.name)).toBeUndefined();
      expect(await registry.removeDeletedQueue(queue.name, () => true)).toBe(true);
      await registry.putQueue(queue);
      expect(await registry.listSubscriptions(queue.name, { limit: 200 })).toEqual({ items: [] });
      for (const subscription of all.slice(0, 3)) {
        expect(await registry.addSubscription({ ...subscription, id: 'new' + subscription.id })).toEqual({
          kind: 'added',
        });
      }
    });

    it('deletes a missing queue without an error', async () => {
      await expect(make().deleteQueue(randomUUID(), SOME_TIME)).resolves.toBeUndefined();
    });

    it('removes nothing of a queue that was not deleted', async () => {
      const { registry, subscription } = await withSubscription(make());
      expect(await registry.removeDeletedQueue(subscription.queue, () => true)).toBe(true);
      expect(await registry.findSubscription(subscription.queue, subscription.id)).toEqual(subscription);
    });

    it('leaves no subscription behind that was added while the queue was deleted', async () => {
      const registry = make();
      const queue = aQueue({ name: randomUUID() });
      await registry.putQueue(queue);
      const adding = Array.from({ length: 20 }, (_, index) =>
        registry
          .addSubscription(
            aSubscription({ queue: queue.name, id: `s-${index}`, subscriber: `https://s.test/${index}` }),
          )
          .catch((error: unknown) => {
            expect(error).toBeInstanceOf(QueueMissingError);
          }),
      );
      await Promise.all([
        ...adding.slice(0, 10),
        registry.deleteQueue(queue.name, SOME_TIME),
        ...adding.slice(10),
      ]);
      await registry.putQueue(queue);
      expect(await registry.listSubscriptions(queue.name, { limit: 100 })).toEqual({ items: [] });
    });
  });

  describe(`subscriptions in the subscription registry ${name}`, () => {
    it('adds a subscription with all of its fields', async () => {
      const options = {
        _retry_policy: { jitter: 'full', retry_on_status: [429] },
        post_headers: { 'x-ü': '' },
        post_data: '🐘"$zaqar_message$"',
        raw_delivery: true,
      } as const;
      const { registry, subscription } = await withSubscription(make(), {
        name: 'Billing ü',
        options: { ...options, _retry_policy: { ...options._retry_policy, retry_on_status: [429] } },
        ttl: 60,
        expiresAt: SOME_TIME + 60_000,
      });
      expect(await registry.findSubscription(subscription.queue, subscription.id)).toEqual(subscription);
    });

    it('does not add a subscription to a missing queue', async () => {
      const registry = make();
      const subscription = aSubscription({ queue: randomUUID() });
      await expect(registry.addSubscription(subscription)).rejects.toThrow(
        new QueueMissingError(subscription.queue),
      );
      expect(await registry.findSubscription(subscription.queue, subscription.id)).toBeUndefined();
    });

    it('names the subscription that already has the subscriber', async () => {
      const { registry, subscription } = await withSubscription(make());
      const second = { ...subscription, id: 'second' };
      expect(await registry.addSubscription(second)).toEqual({
        kind: 'conflict',
        subscriptionId: subscription.id,
      });
      expect(await registry.findSubscription(subscription.queue, 'second')).toBeUndefined();
    });

    it.each(['HTTPS://S.TEST:443/hook', 'https://s.test/./hook', 'https://s.test/hook#part'])(
      'treats %s as the same subscriber as https://s.test/hook',
      async (spelling) => {
        const { registry, subscription } = await withSubscription(make(), {
          destination: parseDestination('https://s.test/hook'),
        });
        const second = { ...subscription, id: 'second', destination: parseDestination(spelling) };
        expect(await registry.addSubscription(second)).toMatchObject({ kind: 'conflict' });
      },
    );

    it('lets one subscriber subscribe to two queues, and two subscribers to one', async () => {
      const { registry, subscription } = await withSubscription(make());
      const elsewhere = await withSubscription(registry, { destination: subscription.destination });
      const other = {
        ...subscription,
        id: 'other',
        destination: parseDestination(`${subscriberOf(subscription.destination)}/`),
      };
      expect(elsewhere.answer).toEqual({ kind: 'added' });
      expect(await registry.addSubscription(other)).toEqual({ kind: 'added' });
    });

    it('adds one of ten concurrent subscriptions of the same subscriber', async () => {
      const registry = make();
      const queue = aQueue({ name: randomUUID() });
      await registry.putQueue(queue);
      const ids = Array.from({ length: 10 }, (_, index) => `s-${index}`);
      const answers = await Promise.all(
        ids.map((id) => registry.addSubscription(aSubscription({ queue: queue.name, id }))),
      );
      const { items } = await registry.listSubscriptions(queue.name, { limit: 20 });
      expect(answers.filter(({ kind }) => kind === 'added')).toHaveLength(1);
      expect(answers.filter(({ kind }) => kind === 'conflict')).toEqual(
        Array.from({ length: 9 }, () => ({ kind: 'conflict', subscriptionId: items[0]?.id })),
      );
      expect(items).toHaveLength(1);
    });

    it('takes over the subscriber of an expired subscription, from the exact millisecond', async () => {
      const expiresAt = SOME_TIME + 1000;
      const { registry, subscription } = await withSubscription(make(), { ttl: 1, expiresAt });
      const second = { ...subscription, id: 'second', createdAt: expiresAt, expiresAt: expiresAt + 1000 };
      const early = { ...second, createdAt: expiresAt - 1 };
      expect(await registry.addSubscription(early)).toEqual({
        kind: 'conflict',
        subscriptionId: subscription.id,
      });
      expect(await registry.addSubscription(second)).toEqual({ kind: 'added' });
      const third = { ...second, id: 'third' };
      expect(await registry.addSubscription(third)).toEqual({ kind: 'conflict', subscriptionId: 'second' });
      // Removing the expired subscription does not take the subscriber from its successor.
      await removeSubscription(registry, subscription.queue, subscription.id);
      expect(await registry.findSubscription(subscription.queue, subscription.id)).toBeUndefined();
      expect(await registry.addSubscription(third)).toEqual({ kind: 'conflict', subscriptionId: 'second' });
    });

    it('deletes a queue whose subscriber was taken over', async () => {
      const { registry, subscription } = await withSubscription(make(), { ttl: 1, expiresAt: SOME_TIME });
      await registry.addSubscription({
        ...subscription,
        id: 'second',
        createdAt: SOME_TIME,
        expiresAt: SOME_TIME * 2,
      });
      await registry.deleteQueue(subscription.queue, SOME_TIME);
      await registry.putQueue(aQueue({ name: subscription.queue }));
      expect(await registry.addSubscription({ ...subscription, id: 'third' })).toEqual({ kind: 'added' });
    });

    it('releases the subscriber of a deleted subscription', async () => {
      const { registry, subscription } = await withSubscription(make());
      await removeSubscription(registry, subscription.queue, subscription.id);
      expect(await registry.findSubscription(subscription.queue, subscription.id)).toBeUndefined();
      expect(await registry.addSubscription({ ...subscription, id: 'second' })).toEqual({ kind: 'added' });
      await removeSubscription(registry, subscription.queue, subscription.id);
      expect(await registry.findSubscription(subscription.queue, 'second')).toBeDefined();
    });
  });
};

const withSubscription = async (registry: Registry, overrides: Partial<Subscription> = {}) => {
  const queue = aQueue({ name: randomUUID() });
  await registry.ensureQueue(queue);
  const subscription = aSubscription({ queue: queue.name, createdAt: 0, ...overrides });
  const answer = await registry.addSubscription(subscription);
  return { registry, subscription, answer };
};
