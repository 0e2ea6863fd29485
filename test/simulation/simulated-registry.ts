import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import {
  QueueBeingDeletedError,
  QueueMissingError,
  type Registry,
} from '../../shared/ports/subscriptions.ts';
import type { SubscriptionStore } from './subscription-store.ts';

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
