import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { parseDestination, subscriberOf } from '../../shared/domain/subscription/destination.ts';
import type { Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import { QueueMissingError, type Registry, type Subscriptions } from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { removeSubscription } from '../support/remove-subscription.ts';

/** Contract of queues and of their subscriptions. */
const describeContents = (name: string, make: () => Registry): void => {
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
      const { registry, queue } = await withQueue(make(), { retryPolicy: {} });
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
      const { registry, queue } = await withQueue(make());
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
      const { registry, queue } = await withQueue(make());
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
      const { registry, queue } = await withQueue(make());
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

const withQueue = async (registry: Registry, overrides: Partial<Queue> = {}) => {
  const queue = aQueue({ name: randomUUID(), ...overrides });
  await registry.putQueue(queue);
  return { registry, queue };
};

const withSubscription = async (registry: Registry, overrides: Partial<Subscription> = {}) => {
  const queue = aQueue({ name: randomUUID() });
  await registry.ensureQueue(queue);
  const subscription = aSubscription({ queue: queue.name, createdAt: 0, ...overrides });
  const answer = await registry.addSubscription(subscription);
  return { registry, subscription, answer };
};

/** Contract of changes to queues and subscriptions. */
const describeChanges = (name: string, make: () => Registry): void => {
  const withSubscription = async (overrides: Partial<Subscription> = {}) => {
    const { registry, queue } = await withQueue(make(), { metadata: { n: 0 } });
    const subscription = aSubscription({ queue: queue.name, ...overrides });
    await registry.addSubscription(subscription);
    const target = { queue: queue.name, subscriptionId: subscription.id, now: SOME_TIME };
    return { registry, queue, subscription, target };
  };

  describe(`changes of queues in the subscription registry ${name}`, () => {
    it('are applied, and return the queue before and after', async () => {
      const { registry, queue } = await withSubscription();
      const change = { metadata: { b: 1 }, retryPolicy: { minimum_delay: 2 } };
      const after = { ...queue, ...change };
      expect(await registry.changeQueue(queue.name, (current) => ({ ...current, ...change }))).toEqual({
        kind: 'changed',
        before: queue,
        after,
      });
      expect(await registry.findQueue(queue.name)).toEqual(after);
      await registry.changeQueue(queue.name, ({ name: same, createdAt }) => ({
        name: same,
        createdAt,
        metadata: {},
      }));
      expect(await registry.findQueue(queue.name)).not.toHaveProperty('retryPolicy');
    });

    it('return that nothing changed, or that there is no such queue', async () => {
      const { registry, queue } = await withSubscription();
      expect(await registry.changeQueue(queue.name, (current) => current)).toEqual({
        kind: 'left',
        current: queue,
      });
      expect(await registry.changeQueue(randomUUID(), (current) => current)).toEqual({ kind: 'missing' });
    });

    it('pass on the exception of the callback, and change nothing', async () => {
      const { registry, queue } = await withSubscription();
      const change = () => {
        throw new Error('no such policy');
      };
      await expect(registry.changeQueue(queue.name, change)).rejects.toThrow('no such policy');
      expect(await registry.findQueue(queue.name)).toEqual(queue);
    });

    it('do not undo each other when concurrent', async () => {
      const { registry, queue } = await withSubscription();
      const names = ['a', 'b', 'c', 'd'];
      await Promise.all(
        names.map((member) =>
          registry.changeQueue(queue.name, (current) => ({
            ...current,
            metadata: { ...current.metadata, [member]: 1 },
          })),
        ),
      );
      expect((await registry.findQueue(queue.name))?.metadata).toEqual({ n: 0, a: 1, b: 1, c: 1, d: 1 });
    });
  });

  describe(`changes of subscriptions in the subscription registry ${name}`, () => {
    it('are applied, and return the subscription before and after', async () => {
      const { registry, subscription, target } = await withSubscription({ options: { raw_delivery: true } });
      const change = {
        name: 'Größe',
        options: { post_headers: { a: 'ü' } },
        ttl: 60,
        expiresAt: SOME_TIME + 60_000,
        disabled: { reason: 'manual', at: SOME_TIME },
        unconfirmed: { tokenHash: 'hash', at: SOME_TIME, owed: true },
      } as const;
      const after = { ...subscription, ...change };
      expect(await registry.changeSubscription(target, (current) => ({ ...current, ...change }))).toEqual({
        kind: 'changed',
        before: subscription,
        after,
      });
      expect(await registry.findSubscription(target.queue, subscription.id)).toEqual(after);
      expect(await registry.changeSubscription(target, () => subscription)).toMatchObject({
        kind: 'changed',
      });
      expect(await registry.findSubscription(target.queue, subscription.id)).toEqual(subscription);
    });

    it('return that nothing changed, or that there is no such subscription', async () => {
      const { registry, subscription, target } = await withSubscription();
      const left = { kind: 'left', current: subscription };
      expect(await registry.changeSubscription(target, () => undefined)).toEqual(left);
      expect(await registry.changeSubscription(target, (current) => ({ ...current }))).toEqual(left);
      const unknown = { ...target, subscriptionId: 'unknown' };
      expect(await registry.changeSubscription(unknown, (current) => current)).toEqual({ kind: 'missing' });
    });

    it('pass on the exception of the callback, and change nothing', async () => {
      const { registry, subscription, target } = await withSubscription();
      const change = () => {
        throw new Error('no such header');
      };
      await expect(registry.changeSubscription(target, change)).rejects.toThrow('no such header');
      expect(await registry.findSubscription(target.queue, subscription.id)).toEqual(subscription);
    });

    it('move the claim on the subscriber', async () => {
      const { registry, subscription, target } = await withSubscription();
      const destination = parseDestination(`${subscriberOf(subscription.destination)}/2`);
      await registry.changeSubscription(target, (current) => ({ ...current, destination }));
      const second = { ...subscription, id: 'second' };
      expect(await registry.addSubscription({ ...second, destination })).toEqual({
        kind: 'conflict',
        subscriptionId: subscription.id,
      });
      expect(await registry.addSubscription(second)).toEqual({ kind: 'added' });
    });

    it('change nothing if another subscription has the subscriber', async () => {
      const { registry, subscription, target } = await withSubscription();
      const other = {
        ...subscription,
        id: 'other',
        destination: parseDestination(`${subscriberOf(subscription.destination)}/2`),
      };
      await registry.addSubscription(other);
      const change = (current: Subscription) => ({ ...current, destination: other.destination, options: {} });
      expect(await registry.changeSubscription(target, change)).toEqual({
        kind: 'conflict',
        subscriptionId: 'other',
      });
      expect(await registry.findSubscription(target.queue, subscription.id)).toEqual(subscription);
      expect(await registry.addSubscription({ ...subscription, id: 'third' })).toMatchObject({
        kind: 'conflict',
      });
    });

    it('take over the subscriber of an expired subscription', async () => {
      const { registry, subscription, target } = await withSubscription();
      const destination = parseDestination(`${subscriberOf(subscription.destination)}/2`);
      const expired = { ...subscription, id: 'expired', destination, ttl: 1, expiresAt: SOME_TIME };
      await registry.addSubscription(expired);
      const change = (current: Subscription) => ({ ...current, destination });
      expect(await registry.changeSubscription({ ...target, now: SOME_TIME - 1 }, change)).toMatchObject({
        kind: 'conflict',
      });
      expect(await registry.changeSubscription(target, change)).toMatchObject({ kind: 'changed' });
      expect(await registry.findByDestinations(target.queue, [destination])).toMatchObject([
        { id: subscription.id },
      ]);
    });

    it('change the end of the claim with the expiry of the subscription', async () => {
      const { registry, subscription, target } = await withSubscription();
      const expiresAt = SOME_TIME + 1000;
      await registry.changeSubscription(target, (current) => ({ ...current, ttl: 1, expiresAt }));
      const second = { ...subscription, id: 'second', createdAt: expiresAt - 1 };
      expect(await registry.addSubscription(second)).toMatchObject({ kind: 'conflict' });
      await registry.changeSubscription(target, () => subscription);
      expect(await registry.addSubscription({ ...second, createdAt: expiresAt })).toMatchObject({
        kind: 'conflict',
      });
      await registry.changeSubscription(target, (current) => ({ ...current, ttl: 1, expiresAt }));
      expect(await registry.addSubscription({ ...second, createdAt: expiresAt })).toEqual({ kind: 'added' });
    });

    it('do not undo each other when concurrent', async () => {
      const { registry, subscription, target } = await withSubscription();
      const names = ['a', 'b', 'c', 'd'];
      await Promise.all([
        ...names.map((header) =>
          registry.changeSubscription(target, (current) => ({
            ...current,
            options: { post_headers: { ...current.options.post_headers, [header]: '1' } },
          })),
        ),
        registry.changeSubscription(target, (current) => ({
          ...current,
          destination: parseDestination('https://other.test/'),
        })),
        registry.changeSubscription(target, (current) => ({
          ...current,
          disabled: { reason: 'gone', at: 1 },
        })),
      ]);
      expect(await registry.findSubscription(target.queue, subscription.id)).toEqual({
        ...subscription,
        destination: parseDestination('https://other.test/'),
        options: { post_headers: { a: '1', b: '1', c: '1', d: '1' } },
        disabled: { reason: 'gone', at: 1 },
      });
    });

    it('give a subscriber to one of two concurrent changes', async () => {
      const { registry, subscription, target } = await withSubscription();
      await registry.addSubscription({
        ...subscription,
        id: 'other',
        destination: parseDestination('https://b.test/'),
      });
      const change = (current: Subscription) => ({
        ...current,
        destination: parseDestination('https://wanted.test/'),
      });
      const kinds = await Promise.all(
        [subscription.id, 'other'].map(async (subscriptionId) => {
          const { kind } = await registry.changeSubscription({ ...target, subscriptionId }, change);
          return kind;
        }),
      );
      expect(kinds.sort()).toEqual(['changed', 'conflict']);
    });
  });
};

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

/** Contract of the registry, which administration uses. */
export const describeRegistryContract = (name: string, make: () => Registry): void => {
  describeContents(name, make);
  describeChanges(name, make);
};
