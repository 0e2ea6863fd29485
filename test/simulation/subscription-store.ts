import { readCache } from '../../shared/adapters/read-cache.ts';
import type { Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import {
  QueueBeingDeletedError,
  type Registry,
  type SubscriptionPage,
  type Subscriptions,
} from '../../shared/ports/subscriptions.ts';
import { inMemorySubscriptions, type QueueEntry } from '../support/in-memory/in-memory-subscriptions.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';
import { QUEUE } from './scenario.ts';

/** A value that is current from `from` until the next version. */
export type Version<T> = { from: number; value: T };

export type SubscriptionStore = ReturnType<typeof subscriptionStore>;

/** The subscriptions table with its history, so that a step can be checked against what it may have read. */
export const subscriptionStore = (time: VirtualClock, pageSize: number) => {
  const entries = new Map<string, QueueEntry>();
  const table = inMemorySubscriptions(time, () => pageSize, entries);
  const queueVersions: Version<Queue | undefined>[] = [];
  const subscriptions = new Map<string, Version<Subscription | undefined>[]>();

  /** After a write: what differs from its last version has another one. */
  const noted = <Result>(result: Result): Result => {
    const { queue, subscriptions: present = new Map<string, Subscription>() } = entries.get(QUEUE) ?? {};
    addVersion(queueVersions, queue);
    for (const id of new Set([...subscriptions.keys(), ...present.keys()])) {
      const versions = subscriptions.get(id) ?? [];
      addVersion(versions, present.get(id));
      subscriptions.set(id, versions);
    }
    return result;
  };

  const addVersion = <T>(versions: Version<T>[], value: T): void => {
    if (versions.at(-1)?.value !== value) versions.push({ from: time.now(), value });
  };

  /** The port for one machine, with its clock and cache. */
  const portFor = (clock: { now: () => number }, cacheSeconds: number): Subscriptions => {
    const options = { clock, maxAgeMs: cacheSeconds * 1000, maxWeight: 10_000, weightOf: () => 1 };
    const pages = readCache<SubscriptionPage>(options);
    const queues = readCache<Queue>(options);
    const members = readCache<Subscription>(options);
    const forget = (id: string): void => {
      pages.forgetAll(QUEUE);
      members.forget(id);
    };
    return {
      page: (queue, freshness, after) =>
        pages[freshness](`${queue}#${after ?? ''}`, async () => {
          const page = await table.page(queue, 'fresh', after);
          return page && { ...page, readAt: clock.now() };
        }),
      find: async (queue, id, freshness) => ({
        queue: await queues.cached(queue, () => table.findQueue(queue)),
        subscription: await members[freshness](id, () => table.findSubscription(queue, id)),
      }),
      disable: (queue, id, disabled, version) => {
        forget(id);
        return noted(table.disable(queue, id, disabled, version));
      },
      changeHealth: (queue, id, change) => {
        forget(id);
        return noted(table.changeHealth(queue, id, change));
      },
    };
  };

  /** Remaining subscriptions of a deleted queue; each call removes half of them. */
  let left = 0;
  const removeHalf = (): boolean => {
    left = Math.floor(left / 2);
    return left === 0;
  };

  const registry: Registry = {
    ...table,
    putQueue: (queue) =>
      removeHalf() ? noted(table.putQueue(queue)) : Promise.reject(new QueueBeingDeletedError(queue.name)),
    deleteQueue: (queue, ...deletion) => {
      left += entries.get(queue)?.subscriptions.size ?? 0;
      return noted(table.deleteQueue(queue, ...deletion));
    },
    removeDeletedQueue: () => Promise.resolve(removeHalf()),
    addSubscriptions: (added, bounds) =>
      // A repeated request does not bring back what was removed meanwhile.
      added.every(({ queue, id }) => entries.has(queue) && subscriptions.has(id))
        ? Promise.resolve(added.map(() => ({ kind: 'added' })))
        : noted(table.addSubscriptions(added, bounds)),
    changeQueue: (name, change) => noted(table.changeQueue(name, change)),
    changeSubscription: (request, change) => noted(table.changeSubscription(request, change)),
    markDeleted: (...asked) => noted(table.markDeleted(...asked)),
    // In several calls, as of many subscriptions.
    restoreQueue: async (...asked) => {
      const result = await table.restoreQueue(...asked);
      if (result === 'restoring') left += subscriptions.size;
      return result;
    },
    completeRestoredQueue: (name, hasTime) =>
      removeHalf() ? noted(table.completeRestoredQueue(name, hasTime)) : Promise.resolve(false),
    restoreSubscription: (request) => noted(table.restoreSubscription(request)),
    removeMarked: (queue, id) => noted(table.removeMarked(queue, id)),
  };

  return {
    portFor,
    registry,
    find: (id: string) => entries.get(QUEUE)?.subscriptions.get(id),
    /** All versions; undefined while it did not exist. */
    queueVersions,
    versionsOf: (id: string) => subscriptions.get(id) ?? [],
  };
};
