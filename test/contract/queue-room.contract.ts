import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Amount, amountOf } from '../../shared/domain/subscription/room.ts';
import type { Registry } from '../../shared/ports/subscriptions.ts';
import { aQueue, aSubscription } from '../support/builders.ts';

/** `pass`: advances the clock by milliseconds. */
export type RoomUnderTest = { registry: Registry; now: () => number; pass: (milliseconds: number) => void };

const MINUTE_MS = 60_000;

/** Contract of the limits on a queue's subscriptions. */
export const describeQueueRoomContract = (name: string, make: () => RoomUnderTest): void => {
  describe(`the room of a queue ${name}`, () => {
    const withQueue = async () => {
      const { registry, now, pass } = make();
      const queue = `room-${randomUUID()}`;
      await registry.putQueue(aQueue({ name: queue, createdAt: now() }));
      const one = (id: string, more = {}) =>
        aSubscription({ id, queue, subscriber: `https://hooks.example/${id}`, createdAt: now(), ...more });
      const add = async (most: Amount, id: string, more = {}): Promise<boolean> => {
        const subscription = one(id, more);
        const hasRoom = await registry.takeRoom(queue, amountOf([subscription]), most);
        if (hasRoom) await registry.addSubscription(subscription);
        return hasRoom;
      };
      return { registry, queue, add, one, now, pass };
    };

    it('is limited by the number of subscriptions', async () => {
      const { add } = await withQueue();
      const most = { subscriptions: 2, bytes: 1_000_000 };
      expect([await add(most, 'a'), await add(most, 'b'), await add(most, 'c')]).toEqual([true, true, false]);
    });

    it('is limited by bytes, including those of changes', async () => {
      const { registry, queue, add, one } = await withQueue();
      const options = { post_data: 'x'.repeat(1_000) };
      const { bytes } = amountOf([one('a', { options })]);
      const most = { subscriptions: 100, bytes: 2 * bytes };
      expect(await add(most, 'a', { options })).toBe(true);
      expect(await registry.takeRoom(queue, { subscriptions: 0, bytes: bytes + 1 }, most)).toBe(false);
      expect(await add(most, 'b', { options })).toBe(true);
      expect(await add(most, 'c')).toBe(false);
    });

    it('is available again a minute after subscriptions are removed', async () => {
      const { registry, queue, add, now, pass } = await withQueue();
      const most = { subscriptions: 2, bytes: 1_000_000 };
      await add(most, 'a');
      await add(most, 'b');
      pass(MINUTE_MS);
      await registry.markDeleted({ queue, subscriptionId: 'a', now: now() });
      expect(await add(most, 'c')).toBe(false);
      pass(MINUTE_MS);
      await registry.removeMarked(queue, 'a');
      expect([await add(most, 'c'), await add(most, 'd')]).toEqual([true, false]);
    });

    it('takes into account subscriptions that were added before there was a counter', async () => {
      const { registry, add, one } = await withQueue();
      await registry.addSubscriptions([one('a'), one('b')]);
      expect(await add({ subscriptions: 2, bytes: 1_000_000 }, 'c')).toBe(false);
    });

    it('is not needed for what does not grow: a queue over its limit may still change its subscriptions', async () => {
      const { registry, queue, one } = await withQueue();
      await registry.addSubscriptions([one('a'), one('b')]);
      const most = { subscriptions: 1, bytes: 10_000 };
      expect(await registry.takeRoom(queue, { subscriptions: 0, bytes: 100 }, most)).toBe(true);
      expect(await registry.takeRoom(queue, { subscriptions: 1, bytes: 0 }, most)).toBe(false);
    });

    it('is unlimited for a missing queue', async () => {
      const { registry } = await withQueue();
      const more = { subscriptions: 1, bytes: 1 };
      expect(await registry.takeRoom('no-such-queue', more, { subscriptions: 0, bytes: 0 })).toBe(true);
    });
  });
};
