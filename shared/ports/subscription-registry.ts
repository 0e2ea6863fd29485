import type { Queue, Subscription } from '../domain/subscription.ts';

export type Page<T> = { items: readonly T[]; /** Opaque; absent on the last page. */ marker?: string };
export type PageRequest = { limit: number; marker?: string };

/** A page marker that this listing never gave out. The caller's fault, not ours. */
export class InvalidMarkerError extends Error {
  override readonly name = 'InvalidMarkerError';

  constructor() {
    super('The marker is none that this listing gave out.');
  }
}

/** A subscription needs a queue that exists; this one does not, or was deleted meanwhile. */
export class QueueMissingError extends Error {
  override readonly name = 'QueueMissingError';
  readonly queue: string;

  constructor(queue: string) {
    super(`There is no queue ${queue}.`);
    this.queue = queue;
  }
}

/** Subscriptions were added as fast as they were deleted; the queue is still there. */
export class QueueBusyError extends Error {
  override readonly name = 'QueueBusyError';
  readonly queue: string;

  constructor(queue: string) {
    super(`Subscriptions kept being added to the queue ${queue} while it was being deleted.`);
    this.queue = queue;
  }
}

/** What administration needs of the subscriptions table. Every read is strongly consistent, except the list of queues. */
export interface SubscriptionRegistry {
  /** Creates the queue or replaces its metadata; an existing queue keeps its createdAt. */
  putQueue(queue: Queue): Promise<'created' | 'replaced'>;
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
  findSubscription(queue: string, subscriptionId: string): Promise<Subscription | undefined>;
  /** By id, the expired and the disabled among them. @throws InvalidMarkerError */
  listSubscriptions(queue: string, page: PageRequest): Promise<Page<Subscription>>;
  /** Nothing to delete is no error. */
  deleteSubscription(queue: string, subscriptionId: string): Promise<void>;
}
