import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseDestination } from '../../shared/domain/subscription/destination.ts';
import type { Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import {
  QueueBeingDeletedError,
  QueueMissingError,
  type Registry,
} from '../../shared/ports/subscriptions.ts';
import { addSubscription } from '../support/add-subscription.ts';
import { aQueue, aSubscription } from '../support/builders.ts';
import { SOME_TIME } from '../support/delivery-builders.ts';

const UNTIL = SOME_TIME + 1000;
const ALL = { limit: 100 };
const always = () => true;

/** Contract of the archives that deletions leave, and of what is restored from them. */
export const describeArchivesContract = (name: string, make: () => Registry): void => {
  describe(`the archives of the registry ${name}`, () => {
    const registry = make();
    let queue: Queue;
    let subscription: Subscription;
    beforeEach(async () => {
      queue = aQueue({ name: randomUUID(), metadata: { n: 0 }, createdAt: 1 });
      await registry.putQueue(queue);
      const secrets = [{ sealed: 'sealed' }];
      subscription = aSubscription({
        queue: queue.name,
        name: 'ACME',
        secrets,
        options: { raw_delivery: true },
      });
      await addSubscription(registry, subscription);
    });

    const target = (now = SOME_TIME) => ({ queue: queue.name, subscriptionId: subscription.id, now });
    const found = () => registry.findSubscription(queue.name, subscription.id);
    const restored = (deletedAt = SOME_TIME) => ({
      ...subscription,
      restored: { deletedAt, at: expect.any(Number) as number },
    });
    const deleteQueue = async (now = SOME_TIME, until?: number) => {
      const deleted = await registry.deleteQueue(queue.name, now, until);
      await registry.removeDeletedQueue(queue.name, always);
      return deleted?.restorableUntil;
    };
    const archivedQueues = async (now = SOME_TIME) =>
      (await registry.listArchivedQueues({ limit: 1000 }, now)).items.filter(
        (archived) => archived.queue.name === queue.name,
      );

    describe('of a subscription', () => {
      it('show it until their end, without what was deleted with --now', async () => {
        const marked = await registry.markDeleted(target(), UNTIL);
        expect(marked).toMatchObject({ deletedAt: SOME_TIME, restorableUntil: UNTIL });
        const archived = { subscription, deletedAt: SOME_TIME, restorableUntil: UNTIL };
        expect(await registry.listArchivedSubscriptions(queue.name, ALL, SOME_TIME)).toEqual({
          items: [archived],
        });
        expect(await registry.findArchivedSubscription(target())).toMatchObject(archived);
        expect(await registry.listArchivedSubscriptions(queue.name, ALL, UNTIL)).toEqual({ items: [] });
        expect(await registry.findArchivedSubscription(target(UNTIL))).toBeUndefined();
        expect(await registry.restoreSubscription(target(UNTIL))).toEqual({ kind: 'missing' });
      });

      it('are not left where that is not asked for, or it has expired', async () => {
        await registry.markDeleted(target());
        const expired = { ...subscription, id: 'expired', expiresAt: SOME_TIME };
        await addSubscription(registry, expired);
        await registry.markDeleted({ ...target(), subscriptionId: 'expired' }, UNTIL);
        expect(await registry.listArchivedSubscriptions(queue.name, ALL, SOME_TIME)).toEqual({ items: [] });
        expect(await registry.restoreSubscription(target())).toEqual({ kind: 'missing' });
        expect(await found()).toMatchObject({ deletedAt: SOME_TIME });
      });

      it('end with a subscription that expires before', async () => {
        const expiring = { ...subscription, expiresAt: SOME_TIME + 10 };
        await registry.changeSubscription(target(), () => expiring);
        const marked = await registry.markDeleted(target(), UNTIL);
        expect(marked).toMatchObject({ restorableUntil: SOME_TIME + 10 });
        const listed = async (now: number) =>
          (await registry.listArchivedSubscriptions(queue.name, ALL, now)).items.length;
        expect([await listed(SOME_TIME + 9), await listed(SOME_TIME + 10)]).toEqual([1, 0]);
        expect(await registry.restoreSubscription(target(SOME_TIME + 10))).toEqual({ kind: 'missing' });
      });

      it.each(['is still marked', 'was removed'])('bring it back where its record %s', async (how) => {
        await registry.markDeleted(target(), UNTIL);
        if (how === 'was removed') await registry.removeMarked(queue.name, subscription.id);
        const restoration = { kind: 'restored', subscription: restored() };
        expect(await registry.restoreSubscription(target(SOME_TIME + 5))).toEqual(restoration);
        await registry.removeMarked(queue.name, subscription.id);
        expect(await found()).toEqual(restored());
        expect(await registry.restoreSubscription(target())).toEqual({ kind: 'missing' });
        const conflict = { kind: 'conflict', subscriptionId: subscription.id };
        expect(await addSubscription(registry, { ...subscription, id: 'second' })).toEqual(conflict);
      });

      it('bring it back without its failures', async () => {
        const failing = { since: 1, failures: 29 };
        await registry.changeSubscription(target(), (current) => ({ ...current, failing }));
        await registry.markDeleted(target(), UNTIL);
        await registry.restoreSubscription(target());
        expect(await found()).not.toHaveProperty('failing');
      });

      it('bring it back with its pause under a new version', async () => {
        const earlier = { from: 1, until: 2, version: 1 };
        const pauses = [earlier, { from: 3, version: 3 }];
        await registry.changeSubscription(target(), (current) => ({ ...current, pauses }));
        await registry.markDeleted(target(), UNTIL);
        await registry.restoreSubscription(target(SOME_TIME + 5));
        expect(await found()).toMatchObject({ pauses: [earlier, { from: 3, version: SOME_TIME + 5 }] });
      });

      it('name the subscription that has its subscriber now, and stay', async () => {
        await registry.markDeleted(target(), UNTIL);
        await addSubscription(registry, { ...subscription, id: 'second' });
        const conflict = { kind: 'conflict', subscriptionId: 'second' };
        expect(await registry.restoreSubscription(target())).toEqual(conflict);
        await registry.markDeleted({ ...target(), subscriptionId: 'second' });
        expect(await registry.restoreSubscription(target())).toMatchObject({ kind: 'restored' });
      });

      it('are not restored into a missing queue', async () => {
        await registry.markDeleted(target(), UNTIL);
        await deleteQueue();
        await expect(registry.restoreSubscription(target())).rejects.toThrow(QueueMissingError);
      });

      it('can be left and used again, and each time name the last deletion', async () => {
        await registry.markDeleted(target(), UNTIL);
        await registry.restoreSubscription(target());
        await registry.markDeleted(target(SOME_TIME + 7), UNTIL);
        await registry.restoreSubscription(target(SOME_TIME + 8));
        expect(await found()).toEqual(restored(SOME_TIME + 7));
      });

      it('are listed page by page', async () => {
        const ids = ['a', 'b', 'c'];
        for (const id of ids) {
          const destination = parseDestination(`https://${id}.test/`);
          await addSubscription(registry, { ...subscription, id, destination });
          await registry.markDeleted({ ...target(), subscriptionId: id }, UNTIL);
        }
        const first = await registry.listArchivedSubscriptions(queue.name, { limit: 2 }, SOME_TIME);
        const { marker = '' } = first;
        const rest = await registry.listArchivedSubscriptions(queue.name, { limit: 2, marker }, SOME_TIME);
        expect([...first.items, ...rest.items].map((archived) => archived.subscription.id)).toEqual(ids);
        expect(rest).not.toHaveProperty('marker');
      });
    });

    describe('of a queue', () => {
      const restoredQueue = () => ({ ...queue, restoredAt: expect.any(Number) as number });
      const restore = async (until?: number) => {
        const begun = await registry.restoreQueue(queue.name, SOME_TIME, until);
        expect(await registry.completeRestoredQueue(queue.name, always)).toBe(true);
        return begun;
      };

      it('show it until their end', async () => {
        expect(await deleteQueue(SOME_TIME, UNTIL)).toBe(UNTIL);
        expect(await archivedQueues()).toEqual([{ queue, deletedAt: SOME_TIME, restorableUntil: UNTIL }]);
        expect(await archivedQueues(UNTIL)).toEqual([]);
        expect(await registry.restoreQueue(queue.name, UNTIL)).toBe('missing');
      });

      it('are not left where that is not asked for', async () => {
        expect(await deleteQueue()).toBeUndefined();
        expect(await archivedQueues()).toEqual([]);
        expect(await restore()).toBe('missing');
        expect(await registry.findQueue(queue.name)).toBeUndefined();
      });

      it('bring back the queue as it was created, marked as restored, and all subscriptions that were present', async () => {
        const others = ['expired', 'deleted', 'other'].map((id) => ({
          ...subscription,
          id,
          destination: parseDestination(`https://${id}.test/`),
        }));
        for (const other of others)
          await addSubscription(registry, {
            ...other,
            ...(other.id === 'expired' && { expiresAt: SOME_TIME }),
          });
        await registry.markDeleted({ ...target(), subscriptionId: 'deleted' });
        await deleteQueue(SOME_TIME, UNTIL);
        expect(await restore()).toBe('restoring');
        expect(await registry.findQueue(queue.name)).toEqual(restoredQueue());
        const { items } = await registry.listSubscriptions(queue.name, ALL);
        expect(items).toEqual([
          { ...restored(), id: 'other', destination: others[2]?.destination },
          restored(),
        ]);
        expect(await archivedQueues()).toEqual([]);
        const conflict = { kind: 'conflict', subscriptionId: subscription.id };
        expect(await addSubscription(registry, { ...subscription, id: 'second' })).toEqual(conflict);
        expect((await registry.listQueues({ limit: 100 }, queue.name)).items).toEqual([restoredQueue()]);
      });

      it('are refused where a queue of the name exists, and stay', async () => {
        await deleteQueue(SOME_TIME, UNTIL);
        await registry.putQueue({ ...queue, createdAt: 2 });
        expect(await restore()).toBe('exists');
        expect(await registry.findQueue(queue.name)).toMatchObject({ createdAt: 2 });
        await deleteQueue();
        expect(await restore()).toBe('restoring');
        expect(await registry.findQueue(queue.name)).toEqual(restoredQueue());
      });

      it('are chosen by a time of the last deletion, by default the last of all', async () => {
        await deleteQueue(SOME_TIME, UNTIL);
        await registry.putQueue({ ...queue, metadata: { n: 2 }, createdAt: 2 });
        await deleteQueue(SOME_TIME + 1, UNTIL);
        expect((await archivedQueues()).map(({ deletedAt }) => deletedAt)).toEqual([
          SOME_TIME,
          SOME_TIME + 1,
        ]);
        expect(await restore(SOME_TIME - 1)).toBe('missing');
        await restore();
        expect(await registry.findQueue(queue.name)).toMatchObject({ createdAt: 2, metadata: { n: 2 } });
        await deleteQueue(SOME_TIME + 2, UNTIL);
        await restore(SOME_TIME);
        expect(await registry.findQueue(queue.name)).toEqual(restoredQueue());
        expect(await found()).toEqual(restored());
      });

      it('hide the queue until all is back, and let no other be created meanwhile', async () => {
        await deleteQueue(SOME_TIME, UNTIL);
        await registry.restoreQueue(queue.name, SOME_TIME);
        expect(await registry.findQueue(queue.name)).toBeUndefined();
        expect(await registry.removeDeletedQueue(queue.name, always)).toBe(true);
        await expect(registry.putQueue(queue)).rejects.toThrow(QueueBeingDeletedError);
        await expect(registry.ensureQueue(queue)).rejects.toThrow(QueueBeingDeletedError);
        expect(await restore()).toBe('restoring');
        expect(await found()).toEqual(restored());
      });

      it('stay where the queue is deleted while it is being restored', async () => {
        await deleteQueue(SOME_TIME, UNTIL);
        await registry.restoreQueue(queue.name, SOME_TIME);
        await deleteQueue(SOME_TIME + 1, UNTIL);
        expect(await registry.completeRestoredQueue(queue.name, always)).toBe(true);
        expect(await registry.findQueue(queue.name)).toBeUndefined();
        await restore();
        expect(await found()).toEqual(restored());
      });
    });
  });
};
