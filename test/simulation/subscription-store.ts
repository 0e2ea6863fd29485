import { readCache } from '../../shared/adapters/read-cache.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { applyHealthChange, healthChangeHolds, mayDisable } from '../../shared/domain/subscription/health.ts';
import type { Disabled, Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import {
  QueueBeingDeletedError,
  QueueMissingError,
  type Registry,
  type SubscriptionPage,
  type Subscriptions,
} from '../../shared/ports/subscriptions.ts';
import { pageOfSubscriptions } from '../support/in-memory/in-memory-subscriptions.ts';
import type { VirtualClock } from '../support/in-memory/virtual-clock.ts';
import { QUEUE } from './scenario.ts';

/** A value that is current from `from` until the next version. */
export type Version<T> = { from: number; value: T };

export type SubscriptionStore = {
  /** The port for one machine, with its clock and cache. */
  portFor(clock: { now: () => number }, cacheSeconds: number): Subscriptions;
  /** An existing queue keeps its `createdAt`. */
  putQueue(retryPolicy: PartialRetryPolicy | undefined, createdAt: number): void;
  findQueue(): Queue | undefined;
  /** Deletes the queue and its subscriptions. Returns the number of subscriptions. */
  deleteQueue(): number;
  put(subscription: Subscription): void;
  find(id: string): Subscription | undefined;
  remove(id: string): void;
  /** All versions; undefined while it did not exist. */
  queueVersions: readonly Version<Queue | undefined>[];
  versionsOf(id: string): readonly Version<Subscription | undefined>[];
};

/** The subscriptions table with its history, so that a step can be checked against what it may have read. */
export const subscriptionStore = (time: VirtualClock, pageSize: number): SubscriptionStore => {
  const subscriptions = new Map<string, Version<Subscription | undefined>[]>();
  const queueVersions: Version<Queue | undefined>[] = [];

  const find = (id: string): Subscription | undefined => subscriptions.get(id)?.at(-1)?.value;
  const queueNow = (): Queue | undefined => queueVersions.at(-1)?.value;
  const present = (): Subscription[] =>
    [...subscriptions.values()].flatMap((versions) => versions.at(-1)?.value ?? []);

  const setVersion = (id: string, value: Subscription | undefined): void => {
    const versions = subscriptions.get(id) ?? [];
    versions.push({ from: time.now(), value });
    subscriptions.set(id, versions);
  };

  const disable = (id: string, disabled: Disabled, version: number | undefined): void => {
    const subscription = find(id);
    if (subscription !== undefined && mayDisable(subscription, version))
      setVersion(id, { ...subscription, disabled });
  };

  const portFor = (clock: { now: () => number }, cacheSeconds: number): Subscriptions => {
    const options = { clock, maxAgeMs: cacheSeconds * 1000, maxWeight: 10_000, weightOf: () => 1 };
    const pages = readCache<SubscriptionPage>(options);
    const queues = readCache<Queue>(options);
    const members = readCache<Subscription>(options);
    const readPage = (after: string | undefined) => {
      const queue = queueNow();
      const sorted = present().sort((one, other) => (one.id < other.id ? -1 : 1));
      return queue && pageOfSubscriptions(queue, sorted, { after, size: pageSize, readAt: clock.now() });
    };
    const forget = (id: string): void => {
      pages.forgetAll(QUEUE);
      members.forget(id);
    };
    return {
      page: (queue, freshness, after) =>
        pages[freshness](`${queue}#${after ?? ''}`, () => Promise.resolve(readPage(after))),
      find: async (queue, id, freshness) => ({
        queue: await queues.cached(queue, () => Promise.resolve(queueNow())),
        subscription: await members[freshness](id, () => Promise.resolve(find(id))),
      }),
      disable: (_queue, id, disabled, version) => {
        disable(id, disabled, version);
        forget(id);
        return Promise.resolve(find(id)?.disabled);
      },
      changeHealth: (_queue, id, change) => {
        forget(id);
        const current = find(id);
        if (current === undefined || !healthChangeHolds(current, change))
          return Promise.resolve({ kind: 'refused', current });
        const subscription = applyHealthChange(change, current);
        setVersion(id, subscription);
        return Promise.resolve({ kind: 'written', subscription });
      },
    };
  };

  return {
    portFor,
    putQueue: (retryPolicy, createdAt) => {
      const value = {
        name: QUEUE,
        metadata: {},
        createdAt: queueNow()?.createdAt ?? createdAt,
        ...(retryPolicy === undefined ? {} : { retryPolicy }),
      };
      queueVersions.push({ from: time.now(), value });
    },
    findQueue: queueNow,
    deleteQueue: () => {
      const gone = present();
      for (const { id } of gone) setVersion(id, undefined);
      queueVersions.push({ from: time.now(), value: undefined });
      return gone.length;
    },
    put: (subscription) => {
      setVersion(subscription.id, subscription);
    },
    find,
    remove: (id) => {
      setVersion(id, undefined);
    },
    queueVersions,
    versionsOf: (id) => subscriptions.get(id) ?? [],
  };
};

/** The registry methods that the steps use. */
export type SimulatedRegistry = Pick<
  Registry,
  | 'putQueue'
  | 'findQueue'
  | 'deleteQueue'
  | 'removeDeletedQueue'
  | 'addSubscription'
  | 'takeRoom'
  | 'findSubscription'
  | 'changeSubscription'
  | 'markDeleted'
  | 'removeMarked'
>;

/** The administration of the subscriptions table. Subscriber URLs are unique here, so there are no conflicts. */
export function simulatedRegistry(store: SubscriptionStore): SimulatedRegistry {
  /** Remaining subscriptions of a deleted queue; each call removes half of them. */
  let left = 0;
  const removeHalf = (): boolean => {
    left = Math.floor(left / 2);
    return left === 0;
  };

  return {
    putQueue: (queue) => {
      if (!removeHalf()) return Promise.reject(new QueueBeingDeletedError(queue.name));
      const before = store.findQueue();
      store.putQueue(queue.retryPolicy, queue.createdAt);
      return Promise.resolve(before === undefined ? { kind: 'created' } : { kind: 'replaced', before });
    },
    findQueue: () => Promise.resolve(store.findQueue()),
    deleteQueue: () => {
      left += store.deleteQueue();
      return Promise.resolve();
    },
    removeDeletedQueue: () => Promise.resolve(removeHalf()),
    addSubscription: (subscription) => {
      if (store.findQueue() === undefined) return Promise.reject(new QueueMissingError(subscription.queue));
      if (store.versionsOf(subscription.id).length === 0) store.put(subscription);
      return Promise.resolve({ kind: 'added' });
    },
    takeRoom: () => Promise.resolve(true),
    findSubscription: (_queue, subscriptionId) => Promise.resolve(store.find(subscriptionId)),
    changeSubscription: ({ subscriptionId }, change) => {
      const before = store.find(subscriptionId);
      if (before === undefined || isMarked(before)) return Promise.resolve({ kind: 'missing' });
      // As the table, this rejects with an error of the change.
      return new Promise((resolve) => {
        const after = change(before);
        if (after !== undefined) store.put(after);
        resolve(after === undefined ? { kind: 'left', current: before } : { kind: 'changed', before, after });
      });
    },
    markDeleted: ({ subscriptionId, now }) => {
      const known = store.find(subscriptionId);
      if (known !== undefined && !isMarked(known)) store.put({ ...known, deletedAt: now });
      return Promise.resolve(store.find(subscriptionId));
    },
    removeMarked: (_queue, subscriptionId) => {
      const known = store.find(subscriptionId);
      if (known !== undefined && isMarked(known)) store.remove(subscriptionId);
      return Promise.resolve();
    },
  };
}

const isMarked = ({ deletedAt }: Subscription): boolean => deletedAt !== undefined;
