import { parseDestination, subscriberOf } from '../../shared/domain/subscription/destination.ts';
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Registry } from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';

/** Contract of changes to queues and subscriptions. */
export const describeRegistryChangesContract = (name: string, make: () => Registry): void => {
  const withSubscription = async (overrides: Partial<Subscription> = {}) => {
    const registry = make();
    const queue = aQueue({ name: randomUUID(), metadata: { n: 0 } });
    await registry.putQueue(queue);
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
