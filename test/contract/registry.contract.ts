import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Destination,
  parseDestination,
  toSubscriber,
} from '../../shared/domain/subscription/destination.ts';
import type {
  Queue,
  Subscription,
  SubscriptionOptions,
} from '../../shared/domain/subscription/subscription.ts';
import { QueueMissingError, type Registry, type Subscriptions } from '../../shared/ports/subscriptions.ts';
import { addSubscription, addSubscriptions } from '../support/add-subscription.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';
import { removeSubscription } from '../support/remove-subscription.ts';

/** A subscription of a queue that no other test uses. */
const added = async (registry: Registry, overrides: Partial<Subscription> = {}): Promise<Subscription> => {
  const subscription = aSubscription({ queue: randomUUID(), ...overrides });
  await registry.ensureQueue(aQueue({ name: subscription.queue }));
  expect(await addSubscription(registry, subscription)).toEqual({ kind: 'added' });
  return subscription;
};

const numbered = (queue: string, count: number): Subscription[] =>
  Array.from({ length: count }, (_, index) =>
    aSubscription({ queue, id: `s-${index}`, subscriber: `https://s.test/${index}` }),
  );

const refuse = (): never => {
  throw new Error('refused');
};

const moved = ({ destination }: Subscription) => parseDestination(`${toSubscriber(destination)}/2`);

type Both = { registry: Registry; subscriptions: Subscriptions };

/** Contract of the registry, which administration uses: queues, their subscriptions, and changes of both. */
export const describeRegistryContract = (name: string, make: () => Both): void => {
  describe(`the subscription registry ${name}`, () => {
    const { registry, subscriptions } = make();
    let queue: Queue;
    let subscription: Subscription;
    beforeEach(async () => {
      queue = aQueue({ name: randomUUID(), metadata: { n: 0 }, createdAt: 1 });
      await registry.putQueue(queue);
      subscription = await added(registry, { queue: queue.name, options: { raw_delivery: true } });
    });

    const target = (overrides: { subscriptionId?: string; now?: number } = {}) => ({
      queue: subscription.queue,
      subscriptionId: subscription.id,
      now: SOME_TIME,
      ...overrides,
    });
    const found = () => registry.findSubscription(subscription.queue, subscription.id);
    const holdersOf = (...destinations: Destination[]) =>
      registry.findByDestinations(queue.name, destinations);
    const conflict = (subscriptionId = subscription.id) => ({ kind: 'conflict', subscriptionId });

    describe('queues', () => {
      it('creates a queue, and replaces everything except the time of its creation', async () => {
        queue = aQueue({
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

      it('distinguishes an empty retry policy from none, and keeps the subscriptions of a replaced queue', async () => {
        await registry.putQueue({ ...queue, retryPolicy: {} });
        expect(await registry.findQueue(queue.name)).toEqual({ ...queue, retryPolicy: {} });
        expect(await found()).toEqual(subscription);
      });

      it('does not change a queue that must only exist', async () => {
        await registry.ensureQueue({ ...queue, metadata: { a: 1 }, createdAt: 5 });
        expect(await registry.findQueue(queue.name)).toEqual(queue);
      });

      it('deletes a queue with all of its subscriptions', async () => {
        const all = numbered(queue.name, 120);
        await addSubscriptions(registry, all);
        await registry.deleteQueue(queue.name, SOME_TIME);
        expect(await registry.findQueue(queue.name)).toBeUndefined();
        expect(await registry.removeDeletedQueue(queue.name, () => true)).toBe(true);
        await registry.putQueue(queue);
        expect(await registry.listSubscriptions(queue.name, { limit: 200 })).toEqual({ items: [] });
        for (const subscription of all.slice(0, 3)) {
          await added(registry, { ...subscription, id: 'new' + subscription.id });
        }
      });

      it('deletes a missing queue without an error', async () => {
        await expect(registry.deleteQueue(randomUUID(), SOME_TIME)).resolves.toBeUndefined();
      });

      it('removes nothing of a queue that was not deleted', async () => {
        expect(await registry.removeDeletedQueue(queue.name, () => true)).toBe(true);
        expect(await found()).toEqual(subscription);
      });

      it('leaves no subscription behind that was added while the queue was deleted', async () => {
        const adding = numbered(queue.name, 20).map((one) =>
          addSubscription(registry, one).catch((error: unknown) => {
            expect(error).toBeInstanceOf(QueueMissingError);
          }),
        );
        const deleting = registry.deleteQueue(queue.name, SOME_TIME);
        await Promise.all([...adding.slice(0, 10), deleting, ...adding.slice(10)]);
        await registry.putQueue(queue);
        expect(await registry.listSubscriptions(queue.name, { limit: 100 })).toEqual({ items: [] });
      });
    });

    describe('subscriptions', () => {
      it('adds a subscription with all of its fields', async () => {
        const options: SubscriptionOptions = {
          _retry_policy: { jitter: 'full', retry_on_status: [429] },
          post_headers: { 'x-ü': '' },
          post_data: '🐘"$zaqar_message$"',
          raw_delivery: true,
        };
        const expiry = { ttl: 60, expiresAt: SOME_TIME + 60_000 };
        subscription = await added(registry, { name: 'Billing ü', options, ...expiry });
        expect(await found()).toEqual(subscription);
      });

      it('does not add a subscription to a missing queue', async () => {
        subscription = aSubscription({ queue: randomUUID() });
        const missing = new QueueMissingError(subscription.queue);
        await expect(addSubscription(registry, subscription)).rejects.toThrow(missing);
        expect(await found()).toBeUndefined();
      });

      it('names the subscription that already has the subscriber', async () => {
        expect(await addSubscription(registry, { ...subscription, id: 'second' })).toEqual(conflict());
        expect(await registry.findSubscription(queue.name, 'second')).toBeUndefined();
      });

      it.each(['HTTPS://S.TEST:443/hook', 'https://s.test/./hook', 'https://s.test/hook#part'])(
        'treats %s as the same subscriber as https://s.test/hook',
        async (spelling) => {
          subscription = await added(registry, { destination: parseDestination('https://s.test/hook') });
          const second = { ...subscription, id: 'second', destination: parseDestination(spelling) };
          expect(await addSubscription(registry, second)).toEqual(conflict());
        },
      );

      it('lets one subscriber subscribe to two queues, and two subscribers to one', async () => {
        await added(registry, { destination: subscription.destination });
        await added(registry, { ...subscription, id: 'other', destination: moved(subscription) });
      });

      it('adds one of ten concurrent subscriptions of the same subscriber', async () => {
        const wanted = Array.from({ length: 10 }, (_, index) => ({ ...subscription, id: `s-${index}` }));
        await removeSubscription(registry, queue.name, subscription.id);
        const answers = await Promise.all(wanted.map((one) => addSubscription(registry, one)));
        const { items } = await registry.listSubscriptions(queue.name, { limit: 20 });
        expect(answers.filter(({ kind }) => kind === 'added')).toHaveLength(1);
        expect(answers.filter(({ kind }) => kind === 'conflict')).toEqual(
          Array.from({ length: 9 }, () => conflict(items[0]?.id)),
        );
        expect(items).toHaveLength(1);
      });

      it('takes over the subscriber of an expired subscription, from the exact millisecond', async () => {
        const expiresAt = SOME_TIME + 1000;
        subscription = await added(registry, { ttl: 1, expiresAt });
        const second = { ...subscription, id: 'second', createdAt: expiresAt, expiresAt: expiresAt + 1000 };
        const third = { ...second, id: 'third' };
        expect(await addSubscription(registry, { ...second, createdAt: expiresAt - 1 })).toEqual(conflict());
        await added(registry, second);
        expect(await addSubscription(registry, third)).toEqual(conflict('second'));
        // Removing the expired subscription does not take the subscriber from its successor.
        await removeSubscription(registry, subscription.queue, subscription.id);
        expect(await found()).toBeUndefined();
        expect(await addSubscription(registry, third)).toEqual(conflict('second'));
      });

      it('deletes a queue whose subscriber was taken over', async () => {
        subscription = await added(registry, { ttl: 1, expiresAt: SOME_TIME });
        const second = { createdAt: SOME_TIME, expiresAt: SOME_TIME * 2 };
        await added(registry, { ...subscription, id: 'second', ...second });
        await registry.deleteQueue(subscription.queue, SOME_TIME);
        await added(registry, { ...subscription, id: 'third' });
      });

      it('releases the subscriber of a deleted subscription', async () => {
        await removeSubscription(registry, queue.name, subscription.id);
        expect(await found()).toBeUndefined();
        await added(registry, { ...subscription, id: 'second' });
        await removeSubscription(registry, queue.name, subscription.id);
        expect(await registry.findSubscription(queue.name, 'second')).toBeDefined();
      });
    });

    describe('changes of queues', () => {
      it('are applied, and return the queue before and after', async () => {
        const after = { ...queue, metadata: { b: 1 }, retryPolicy: { minimum_delay: 2 } };
        expect(await registry.changeQueue(queue.name, () => after)).toEqual({
          kind: 'changed',
          before: queue,
          after,
        });
        expect(await registry.findQueue(queue.name)).toEqual(after);
        await registry.changeQueue(queue.name, () => queue);
        expect(await registry.findQueue(queue.name)).not.toHaveProperty('retryPolicy');
      });

      it('return that nothing changed, or that there is no such queue', async () => {
        const left = { kind: 'left', current: queue };
        expect(await registry.changeQueue(queue.name, (current) => current)).toEqual(left);
        expect(await registry.changeQueue(randomUUID(), (current) => current)).toEqual({ kind: 'missing' });
      });

      it('pass on the exception of the callback, and change nothing', async () => {
        await expect(registry.changeQueue(queue.name, refuse)).rejects.toThrow('refused');
        expect(await registry.findQueue(queue.name)).toEqual(queue);
      });

      it('do not undo each other when concurrent', async () => {
        const setting = (member: string) =>
          registry.changeQueue(queue.name, ({ metadata, ...current }) => ({
            ...current,
            metadata: { ...metadata, [member]: 1 },
          }));
        await Promise.all(['a', 'b', 'c', 'd'].map(setting));
        expect((await registry.findQueue(queue.name))?.metadata).toEqual({ n: 0, a: 1, b: 1, c: 1, d: 1 });
      });
    });

    describe('changes of subscriptions', () => {
      const change = (changed: (current: Subscription) => Subscription | undefined, asked = target()) =>
        registry.changeSubscription(asked, changed);
      const set = (fields: Partial<Subscription>, asked = target()) =>
        change((current) => ({ ...current, ...fields }), asked);

      it('are applied, and return the subscription before and after', async () => {
        const fields: Partial<Subscription> = {
          name: 'Größe',
          options: { post_headers: { a: 'ü' } },
          ttl: 60,
          expiresAt: SOME_TIME + 60_000,
          disabled: { reason: 'manual', at: SOME_TIME },
          unconfirmed: { tokenHash: 'hash', at: SOME_TIME, owed: true },
        };
        const after = { ...subscription, ...fields };
        expect(await set(fields)).toEqual({ kind: 'changed', before: subscription, after });
        expect(await found()).toEqual(after);
        expect(await change(() => subscription)).toMatchObject({ kind: 'changed' });
        expect(await found()).toEqual(subscription);
      });

      it('return that nothing changed, or that there is no such subscription', async () => {
        const left = { kind: 'left', current: subscription };
        expect(await change(() => undefined)).toEqual(left);
        expect(await set({})).toEqual(left);
        expect(await set({}, target({ subscriptionId: 'unknown' }))).toEqual({ kind: 'missing' });
      });

      it('pass on the exception of the callback, and change nothing', async () => {
        await expect(change(refuse)).rejects.toThrow('refused');
        expect(await found()).toEqual(subscription);
      });

      it('move the claim on the subscriber', async () => {
        const destination = moved(subscription);
        await set({ destination });
        const second = { ...subscription, id: 'second' };
        expect(await addSubscription(registry, { ...second, destination })).toEqual(conflict());
        await added(registry, second);
      });

      it('change nothing if another subscription has the subscriber', async () => {
        const other = await added(registry, {
          ...subscription,
          id: 'other',
          destination: moved(subscription),
        });
        expect(await set({ destination: other.destination, options: {} })).toEqual(conflict('other'));
        expect(await found()).toEqual(subscription);
        expect(await addSubscription(registry, { ...subscription, id: 'third' })).toEqual(conflict());
      });

      it('take over the subscriber of an expired subscription', async () => {
        const destination = moved(subscription);
        await added(registry, { ...subscription, id: 'expired', destination, ttl: 1, expiresAt: SOME_TIME });
        expect(await set({ destination }, target({ now: SOME_TIME - 1 }))).toEqual(conflict('expired'));
        expect(await set({ destination })).toMatchObject({ kind: 'changed' });
        expect(await holdersOf(destination)).toMatchObject([{ id: subscription.id }]);
      });

      it('change the end of the claim with the expiry of the subscription', async () => {
        const expiresAt = SOME_TIME + 1000;
        const second = { ...subscription, id: 'second', createdAt: expiresAt };
        await set({ ttl: 1, expiresAt });
        expect(await addSubscription(registry, { ...second, createdAt: expiresAt - 1 })).toEqual(conflict());
        await change(() => subscription);
        expect(await addSubscription(registry, second)).toEqual(conflict());
        await set({ ttl: 1, expiresAt });
        await added(registry, second);
      });

      it('do not undo each other when concurrent', async () => {
        const destination = moved(subscription);
        const disabled = { reason: 'gone', at: 1 } as const;
        const setting = (header: string) =>
          change(({ options, ...current }) => ({
            ...current,
            options: { post_headers: { ...options.post_headers, [header]: '1' } },
          }));
        await Promise.all([...['a', 'b', 'c', 'd'].map(setting), set({ destination }), set({ disabled })]);
        const options = { post_headers: { a: '1', b: '1', c: '1', d: '1' } };
        expect(await found()).toEqual({ ...subscription, destination, options, disabled });
      });

      it('give a subscriber to one of two concurrent changes', async () => {
        await added(registry, { ...subscription, id: 'other', destination: moved(subscription) });
        const destination = parseDestination('https://wanted.test/');
        const changes = await Promise.all(
          [subscription.id, 'other'].map((subscriptionId) =>
            set({ destination }, target({ subscriptionId })),
          ),
        );
        expect(changes.map(({ kind }) => kind).sort()).toEqual(['changed', 'conflict']);
      });
    });

    describe('subscriptions marked for deletion', () => {
      it('are still found, with the mark, until they are removed', async () => {
        const marked = { ...subscription, deletedAt: SOME_TIME };
        expect(await registry.markDeleted(target())).toEqual(marked);
        expect(await found()).toEqual(marked);
        expect((await registry.listSubscriptions(queue.name, { limit: 5 })).items).toEqual([marked]);
        expect((await subscriptions.find(queue.name, subscription.id, 'fresh')).subscription).toEqual(marked);
        await registry.removeMarked(queue.name, subscription.id);
        expect(await found()).toBeUndefined();
        await expect(registry.removeMarked(queue.name, subscription.id)).resolves.toBeUndefined();
      });

      it('keep their first mark, and can no longer be changed', async () => {
        await registry.markDeleted(target());
        const again = await registry.markDeleted(target({ now: SOME_TIME + 1 }));
        expect(again).toMatchObject({ deletedAt: SOME_TIME });
        expect(await registry.markDeleted(target({ subscriptionId: 'unknown' }))).toBeUndefined();
        const changed = await registry.changeSubscription(target(), (current) => ({ ...current, ttl: 5 }));
        expect(changed).toEqual({ kind: 'missing' });
      });

      it('release their subscriber at once, and do not take it from its next holder', async () => {
        await registry.markDeleted(target());
        expect(await holdersOf(subscription.destination)).toEqual([undefined]);
        const second = await added(registry, { ...subscription, id: 'second' });
        await registry.removeMarked(queue.name, subscription.id);
        expect(await holdersOf(subscription.destination)).toEqual([second]);
      });

      it('leave the subscriber of an expired subscription to its successor', async () => {
        await registry.changeSubscription(target(), (one) => ({ ...one, ttl: 1, expiresAt: SOME_TIME }));
        const lasting = { createdAt: SOME_TIME, expiresAt: SOME_TIME * 2 };
        const second = await added(registry, { ...subscription, id: 'second', ...lasting });
        expect(await registry.markDeleted(target())).toMatchObject({ deletedAt: SOME_TIME });
        expect(await holdersOf(subscription.destination)).toEqual([second]);
      });

      it('are the only subscriptions that are removed', async () => {
        await registry.removeMarked(queue.name, subscription.id);
        expect(await found()).toEqual(subscription);
      });
    });
  });
};
