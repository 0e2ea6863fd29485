import type { Queue, Subscription } from '../domain/subscription.ts';

export type Page<T> = { items: readonly T[]; /** Opaque; absent on the last page. */ marker?: string };
export type PageRequest = { limit: number; marker?: string };

/** What administration needs of the subscriptions table. Every read is strongly consistent, except the list of queues. */
export interface SubscriptionRegistry {
  /** Creates the queue or replaces its metadata; an existing queue keeps its createdAt. */
  putQueue(queue: Queue): Promise<'created' | 'replaced'>;
  /** Creates the queue if there is none, and leaves an existing one untouched. */
  ensureQueue(queue: Queue): Promise<void>;
  findQueue(name: string): Promise<Queue | undefined>;
  listQueues(page: PageRequest): Promise<Page<Queue>>;
  /** Deletes its subscriptions first, so that a crash in between leaves a queue that can be deleted again. */
  deleteQueue(name: string): Promise<void>;
  /** A subscriber is unique on its queue: `conflict` names the subscription that has it. */
  addSubscription(subscription: Subscription): Promise<{ kind: 'added' } | { kind: 'conflict'; subscriptionId: string }>;
  findSubscription(queue: string, subscriptionId: string): Promise<Subscription | undefined>;
  listSubscriptions(queue: string, page: PageRequest): Promise<Page<Subscription>>;
  /** Nothing to delete is no error. */
  deleteSubscription(queue: string, subscriptionId: string): Promise<void>;
}
