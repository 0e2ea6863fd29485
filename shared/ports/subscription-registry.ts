import type { Queue, Subscription } from '../domain/subscription.ts';
import type { Page, PageRequest } from './page.ts';

/** A subscription needs a queue that exists; this one does not, or was deleted meanwhile. */
export class QueueMissingError extends Error {
  override readonly name = 'QueueMissingError';
  readonly queue: string;

  constructor(queue: string) {
    super(`There is no queue ${queue}.`);
    this.queue = queue;
  }
}

/** Subscriptions were added or changed as fast as they were deleted; the queue is still there. */
export class QueueBusyError extends Error {
  override readonly name = 'QueueBusyError';
  readonly queue: string;

  constructor(queue: string) {
    super(
      `Subscriptions kept being added to the queue ${queue}, or changed in it, while it was being deleted.`,
    );
    this.queue = queue;
  }
}

/** Somebody else's changes kept coming in between; this one was not made. */
export class ContendedChangeError extends Error {
  override readonly name = 'ContendedChangeError';

  constructor(queue: string, subscriptionId?: string) {
    super(`${[queue, subscriptionId].filter(Boolean).join('/')} kept being changed by others meanwhile.`);
  }
}

/** What came of a change: `left` where the change asked for nothing. */
export type Changed<Of> =
  { kind: 'changed'; before: Of; after: Of } | { kind: 'left'; current: Of } | { kind: 'missing' };

/** Which subscription, and when it is changed (milliseconds since the epoch): claims that expired by then are free. */
export type SubscriptionAt = { queue: string; subscriptionId: string; now: number };

/** What administration needs of the subscriptions table. Every read is strongly consistent, except the list of queues. */
export interface SubscriptionRegistry {
  /** Creates the queue or replaces its metadata; an existing queue keeps its createdAt. */
  putQueue(queue: Queue): Promise<{ kind: 'created' } | { kind: 'replaced'; before: Queue }>;
  /**
   * Replaces a queue's metadata by what `change` makes of it, with nobody else's change in between: `change` may be called
   * again with another state of the queue, and what it throws passes through.
   * @throws ContendedChangeError
   */
  changeQueue(name: string, change: (current: Queue) => Queue): Promise<Changed<Queue>>;
  /** Creates the queue if there is none, and leaves an existing one untouched. */
  ensureQueue(queue: Queue): Promise<void>;
  findQueue(name: string): Promise<Queue | undefined>;
  /** By name. @throws InvalidMarkerError */
  listQueues(page: PageRequest): Promise<Page<Queue>>;
  /**
   * Deletes its subscriptions first, so that a crash in between leaves a queue that can be deleted again. Nothing to
   * delete is no error.
   * @throws QueueBusyError
   */
  deleteQueue(name: string): Promise<void>;
  /**
   * A subscriber is unique on its queue: `conflict` names the subscription that has it. One that expired before the
   * new one's `createdAt` does not have it any more.
   * @throws QueueMissingError
   */
  addSubscription(
    subscription: Subscription,
  ): Promise<{ kind: 'added' } | { kind: 'conflict'; subscriptionId: string }>;
  /** One that expired or is marked for deletion as well. */
  findSubscription(queue: string, subscriptionId: string): Promise<Subscription | undefined>;
  /** Whose subscriber it is, if anybody's; one that expired may still be it. */
  findBySubscriber(queue: string, subscriber: string): Promise<Subscription | undefined>;
  /** By id; the expired, the disabled and those marked for deletion among them. @throws InvalidMarkerError */
  listSubscriptions(queue: string, page: PageRequest): Promise<Page<Subscription>>;
  /**
   * Makes of a subscription what `change` makes of it; undefined: leave it. What others change at the same time stays: a
   * change that touches what they touched is made again on what they left. One that is marked for deletion is missing. A
   * subscriber that another subscription has is a conflict.
   * @throws ContendedChangeError, and what `change` throws
   */
  changeSubscription(
    target: SubscriptionAt,
    change: (current: Subscription) => Subscription | undefined,
  ): Promise<Changed<Subscription> | { kind: 'conflict'; subscriptionId: string }>;
  /**
   * Marks it for deletion and frees its subscriber at once. Answers with the subscription as marked, now or before;
   * undefined: there is none. Should nobody remove it, it goes by itself some days later.
   * @throws ContendedChangeError
   */
  markDeleted(target: SubscriptionAt): Promise<Subscription | undefined>;
  /** Removes a subscription that is marked for deletion; any other stays. Nothing to remove is no error. */
  removeMarked(queue: string, subscriptionId: string): Promise<void>;
}
