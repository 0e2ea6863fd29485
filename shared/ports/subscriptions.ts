import type { Destination } from '../domain/subscription/destination.ts';
import type { Auth } from '../domain/subscription/auth.ts';
import type { HealthChange } from '../domain/subscription/health.ts';
import type { EventValidation, RetainedMessages } from '../domain/subscription/vocabulary.ts';
import type { Amount } from '../domain/subscription/room.ts';
import type { SigningSecret } from '../domain/subscription/signing-secret.ts';
import type {
  ArchivedQueue,
  ArchivedSubscription,
  Disabled,
  ListedSubscription,
  Queue,
  Subscription,
  SubscriptionKey,
} from '../domain/subscription/subscription.ts';
import type { Page, PageRequest } from './page.ts';

/**
 * Required freshness of a read: `cached` up to `subscriptionCacheSeconds` old, `fresh` strongly consistent. A
 * missing queue, subscription or list of subscriptions is never answered from a cache.
 */
export type Freshness = 'cached' | 'fresh';

/** One page of a queue's subscriptions by id: up to 1 MB of records, one request to the table. */
export type SubscriptionPage = {
  /** Creation time of the queue; differs for a recreated queue of the same name. */
  queueCreatedAt: number;
  /** Which bodies the queue keeps, where it says so. */
  retainMessages?: RetainedMessages | undefined;
  /** How the queue checks messages against the catalogue, where it says so. */
  eventValidation?: EventValidation | undefined;
  /** How long the queue keeps messages and deliveries, where it says so. */
  retentionDays?: number | undefined;
  /** Includes expired and disabled ones. */
  subscriptions: readonly ListedSubscription[];
  /** When they were read; subscriptions created later are missing. */
  readAt: number;
  /** Id of the last one, if more may follow. */
  lastSubscriptionId?: string;
};

/** `refused`: the condition did not hold; `current` is the stored subscription, if any. */
export type HealthResult =
  | { kind: 'written'; subscription: Subscription }
  | { kind: 'refused'; current: Subscription | undefined };

/** The subscriptions table, as dispatch and deliver use it. */
export interface Subscriptions {
  /** The page after the subscription `after`, by default the first. Undefined: no such queue. */
  page(queue: string, freshness: Freshness, after?: string): Promise<SubscriptionPage | undefined>;
  /**
   * A subscription and its queue; the queue may be as old as a cached read. Either is undefined if it does not
   * exist.
   */
  find(
    queue: string,
    subscriptionId: string,
    freshness: Freshness,
  ): Promise<{ queue: Queue | undefined; subscription: Subscription | undefined }>;
  /**
   * Disables a subscription, unless it is deleted, already disabled or its `version` differs from the given one.
   * Returns the stored disabled state; undefined: it is enabled or deleted.
   */
  disable(
    queue: string,
    subscriptionId: string,
    disabled: Disabled,
    version?: number,
  ): Promise<Disabled | undefined>;
  /** One conditional write; refused for a deleted subscription. */
  changeHealth(queue: string, subscriptionId: string, change: HealthChange): Promise<HealthResult>;
}

/** The queue of a new subscription does not exist or was deleted. */
export class QueueMissingError extends Error {
  override readonly name = 'QueueMissingError';
  readonly queue: string;

  constructor(queue: string) {
    super(`There is no queue ${queue}.`);
    this.queue = queue;
  }
}

/** The queue has as many subscriptions as the caller may have in it. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
  readonly most: number;

  constructor(queue: string, most: number) {
    super(`The queue ${queue} has ${most} or more subscriptions.`);
    this.most = most;
  }
}

/** The subscriptions of a queue with this name are still being removed, or brought back. */
export class QueueBeingDeletedError extends Error {
  override readonly name = 'QueueBeingDeletedError';

  constructor(queue: string) {
    super(`The queue ${queue} is still being deleted or restored.`);
  }
}

/**
 * Milliseconds that a request to delete, recreate or restore a queue spends on its subscriptions: a few hundred of
 * them. operate does the rest.
 */
export const REMOVAL_BUDGET_MS = 1_000;

/** Result of a change. `left`: the change function requested no change. */
export type RegistryChange<Of> =
  | { kind: 'changed'; before: Of; after: Of }
  | { kind: 'left'; current: Of }
  | { kind: 'missing' };

/**
 * Identifies a subscription to change. `now`: milliseconds since the epoch; subscriber claims expired by then are
 * free.
 */
export type SubscriptionAt = SubscriptionKey & { now: number };

/** A subscriber is unique in its queue: names the subscription that has it. */
export type SubscriberConflict = { kind: 'conflict'; subscriptionId: string };

/** One that expired before the new one's `createdAt` does not conflict. */
export type AddResult = { kind: 'added' } | SubscriberConflict;

/** `createdAt`: of the queue. `most`: subscriptions that it then has, without deleted and expired ones. */
export type AddBounds = { createdAt: number; most: number };

/**
 * A transaction takes 100 items (`TransactWriteItems`, DynamoDB API reference): two per subscription (it and its
 * claim on its subscriber), and one for the queue.
 */
export const MAX_SUBSCRIPTIONS_PER_TRANSACTION = 49;

/** The same where a transaction also moves them to or from an archive. */
export const MAX_ARCHIVED_PER_TRANSACTION = 33;

/** Administration of queues. Reads are strongly consistent, except the list and number of queues. */
export interface RegistryQueues {
  /** Creates the queue or replaces its metadata; keeps `createdAt`. @throws QueueBeingDeletedError */
  putQueue(queue: Queue): Promise<{ kind: 'created' } | { kind: 'replaced'; before: Queue }>;
  /**
   * Atomically replaces a queue's metadata with the result of `change`, which is called again after a concurrent
   * write; its errors pass through.
   * @throws ContendedError
   */
  changeQueue(name: string, change: (current: Queue) => Queue): Promise<RegistryChange<Queue>>;
  /** Creates the queue if it does not exist. @throws QueueBeingDeletedError */
  ensureQueue(queue: Queue): Promise<void>;
  findQueue(name: string): Promise<Queue | undefined>;
  /** Ordered by name, optionally only names that contain `part`. @throws InvalidMarkerError */
  listQueues(page: PageRequest, part?: string): Promise<Page<Queue>>;
  /** Number of queues, optionally only names that contain `part`. */
  countQueues(part?: string): Promise<number>;
  /**
   * Makes the queue and its subscriptions invisible at once; `removeDeletedQueue` removes the items. A missing
   * queue is not an error. Leaves an archive until `restorableUntil`, if that is given. Returns until when the queue
   * can be restored, if it can; undefined: it was missing.
   * @throws ContendedError
   */
  deleteQueue(
    name: string,
    now: number,
    restorableUntil?: number,
  ): Promise<{ restorableUntil: number | undefined } | undefined>;
  /**
   * Removes items of a deleted queue, at least one batch, until `hasTime` returns false. True: none are left.
   * Ignores other queues. Subscriptions of a queue that can be restored are moved to its archive, except deleted and
   * expired ones.
   */
  removeDeletedQueue(name: string, hasTime: () => boolean): Promise<boolean>;
}

/** Administration of subscriptions. Reads are strongly consistent. */
export interface RegistrySubscriptions {
  /**
   * Adds subscriptions with different subscribers to one queue, up to `MAX_SUBSCRIPTIONS_PER_TRANSACTION`; results in
   * their order. A conflict does not prevent the others.
   * @throws QueueMissingError, QueueFullError, ContendedError, and AWS errors; none are added then
   */
  addSubscriptions(subscriptions: readonly Subscription[], bounds?: AddBounds): Promise<readonly AddResult[]>;
  /**
   * Reserves capacity for more subscriptions or larger ones; false: the queue would exceed `limit`. Deleted and
   * expired subscriptions count until a minute after their removal.
   * @throws ContendedError
   */
  takeRoom(queue: string, more: Amount, limit: Amount): Promise<boolean>;
  /** Includes expired subscriptions and those marked for deletion. */
  findSubscription(queue: string, subscriptionId: string): Promise<Subscription | undefined>;
  /**
   * The subscription of each destination, if any, including expired ones that still have a claim. Up to
   * `MAX_SUBSCRIPTIONS_PER_TRANSACTION` destinations.
   */
  findByDestinations(
    queue: string,
    destinations: readonly Destination[],
  ): Promise<readonly (Subscription | undefined)[]>;
  /**
   * Ordered by id; includes expired and disabled ones and those marked for deletion. `match`: only those whose id
   * starts with this text, or whose name or URL contains it; then a page with a marker may be short, even empty.
   * @throws InvalidMarkerError
   */
  listSubscriptions(queue: string, page: PageRequest, match?: string): Promise<Page<Subscription>>;
  /**
   * Replaces a subscription with the result of `change`; undefined: no change. Concurrent changes are kept:
   * `change` is called again if both affect the same fields. A subscription marked for deletion is missing.
   * @throws ContendedError, and errors of `change`
   */
  changeSubscription(
    target: SubscriptionAt,
    change: (current: Subscription) => Subscription | undefined,
  ): Promise<RegistryChange<Subscription> | SubscriberConflict>;
  /**
   * Marks a subscription for deletion, releases its subscriber at once and returns it; undefined: no such
   * subscription. TTL removes it some days later if no operation does. `restorableUntil`: leaves an archive until then,
   * unless the subscription has expired.
   * @throws ContendedError
   */
  markDeleted(target: SubscriptionAt, restorableUntil?: number): Promise<Subscription | undefined>;
  /** Removes a subscription that is marked for deletion; otherwise a no-op. */
  removeMarked(queue: string, subscriptionId: string): Promise<void>;
}

/** Deleted queues and subscriptions that can be restored. Reads are strongly consistent. */
export interface RegistryArchives {
  /** Deleted queues that can be restored, ordered by name and time of deletion. @throws InvalidMarkerError */
  listArchivedQueues(page: PageRequest, now: number): Promise<Page<ArchivedQueue>>;
  /**
   * Begins to restore a queue of its last deletion up to `until`, by default of the last one. It is invisible until
   * `completeRestoredQueue` has brought all its subscriptions back. `exists`: there is a queue of the name.
   * @throws QueueBeingDeletedError
   */
  restoreQueue(name: string, now: number, until?: number): Promise<'restoring' | 'exists' | 'missing'>;
  /** Brings subscriptions back until `hasTime` returns false, and then the queue. True: nothing is left to do. */
  completeRestoredQueue(name: string, hasTime: () => boolean): Promise<boolean>;
  /** Deleted subscriptions that can be restored, ordered by id. @throws InvalidMarkerError */
  listArchivedSubscriptions(
    queue: string,
    page: PageRequest,
    now: number,
  ): Promise<Page<ArchivedSubscription>>;
  findArchivedSubscription(target: SubscriptionAt): Promise<ArchivedSubscription | undefined>;
  /**
   * Restores a deleted subscription, without its failures. `conflict`: another one has its subscriber now.
   * @throws QueueMissingError, ContendedError
   */
  restoreSubscription(
    target: SubscriptionAt,
  ): Promise<{ kind: 'restored'; subscription: Subscription } | { kind: 'missing' } | SubscriberConflict>;
}

export type Registry = RegistryQueues & RegistrySubscriptions & RegistryArchives;

/** A pull subscription. `expiresAt`: milliseconds since the epoch. */
export type PullSubscription = SubscriptionKey & { expiresAt?: number };

/** The pull subscriptions of all queues. Read from an index, about a second behind. */
export interface PullSubscriptions {
  /** Up to a thousand after `last`, in a constant order, by default the first; none: the end. */
  after(last?: PullSubscription): Promise<readonly PullSubscription[]>;
}

/**
 * Write-only access to secrets: can encrypt, cannot decrypt. A secret sealed for one subscription cannot be opened for
 * another.
 */
export interface SecretSealer {
  /** Ciphertext that is safe to store. Sealing a secret twice gives different texts. */
  seal(owner: SubscriptionKey, secret: SigningSecret): Promise<string>;
  sealAuth(owner: SubscriptionKey, auth: Auth): Promise<string>;
}

/** Access to secrets for signing and authentication. */
export interface SecretOpener {
  /** Results may be cached for an hour. @throws UnopenedSecretError */
  open(owner: SubscriptionKey, sealed: string): Promise<SigningSecret>;
  /** Cached and failing like `open`. @throws UnopenedSecretError */
  openAuth(owner: SubscriptionKey, sealed: string): Promise<Auth>;
}

/** A secret could not be opened; the cause shows whether it can be later. Names the owner only. */
export class UnopenedSecretError extends Error {
  override readonly name = 'UnopenedSecretError';
  constructor({ queue, subscriptionId }: SubscriptionKey, options: ErrorOptions) {
    super(`A secret of subscription ${queue}/${subscriptionId} could not be opened`, options);
  }
}
