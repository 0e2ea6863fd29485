import type { HealthChange } from '../domain/subscription/health.ts';
import type { Amount } from '../domain/subscription/room.ts';
import type { RateLimit, Slot } from '../domain/subscription/rate-limit.ts';
import type { SigningSecret } from '../domain/subscription/signing-secret.ts';
import type {
  Disabled,
  ListedSubscription,
  Queue,
  Subscription,
} from '../domain/subscription/subscription.ts';
import type { Page, PageRequest } from './page.ts';

/**
 * How old an answer may be: `cached` up to the deployment's `subscriptionCacheSeconds`, `fresh` strongly consistent.
 * Absence (of a queue, of a subscription, of any subscription at all) is never answered from a cache.
 */
export type Freshness = 'cached' | 'fresh';

/** Some of a queue's subscriptions by id, as many as one request to the table answers with: up to 1 MB of records. */
export type SubscriptionPage = {
  /** When the queue was created: another queue of the same name has another. */
  life: number;
  /** The expired and the disabled among them. */
  subscriptions: readonly ListedSubscription[];
  /** When they were read: a subscription created later is not among them. */
  readAt: number;
  /** The id of the last one, where others may follow. */
  until?: string;
};

/** `refused`: the condition did not hold; `current` is the subscription that refused it, undefined where it is gone. */
export type HealthResult =
  { kind: 'written'; subscription: Subscription } | { kind: 'refused'; current: Subscription | undefined };

/** What dispatch and deliver need of the subscriptions table. */
export interface Subscriptions {
  /** Those behind the subscription `after`; the first ones by default. Undefined: there is no such queue. */
  page(queue: string, freshness: Freshness, after?: string): Promise<SubscriptionPage | undefined>;
  /** A subscription beside its queue, which may be as old as a cached answer; either may be undefined because it is gone. */
  find(
    queue: string,
    subscriptionId: string,
    freshness: Freshness,
  ): Promise<{ queue: Queue | undefined; subscription: Subscription | undefined }>;
  /**
   * Disables for a reason. A subscription that is gone, or disabled already, stays as it is, and so does one whose
   * `changedAt` is not the given one. The answer is what it is disabled for then; undefined: it is not, or it is gone.
   */
  disable(
    queue: string,
    subscriptionId: string,
    disabled: Disabled,
    changedAt?: number,
  ): Promise<Disabled | undefined>;
  /** One conditional write. A subscription that is gone refuses it. */
  changeHealth(queue: string, subscriptionId: string, change: HealthChange): Promise<HealthResult>;
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

/** A queue of this name was deleted, and its subscriptions are still being removed. */
export class QueueBeingDeletedError extends Error {
  override readonly name = 'QueueBeingDeletedError';

  constructor(queue: string) {
    super(`The queue ${queue} is still being deleted.`);
  }
}

/**
 * How long a request that deletes a queue, or makes one of a deleted name, removes what is left of it, in milliseconds: a few hundred
 * subscriptions. operate removes the rest of a larger one.
 */
export const REMOVING_MS = 1_000;

/** What came of a change: `left` where the change asked for nothing. */
export type Changed<Of> =
  { kind: 'changed'; before: Of; after: Of } | { kind: 'left'; current: Of } | { kind: 'missing' };

/** Which subscription, and when it is changed (milliseconds since the epoch): claims that expired by then are free. */
export type SubscriptionAt = { queue: string; subscriptionId: string; now: number };

/**
 * A subscriber is unique on its queue: `conflict` names the subscription that has it. One that expired before the new one's
 * `createdAt` does not have it any more.
 */
export type Added = { kind: 'added' } | { kind: 'conflict'; subscriptionId: string };

/**
 * A transaction takes 100 items (`TransactWriteItems`, DynamoDB API reference): a subscription and its claim on its subscriber are
 * two, and one is the queue.
 */
export const MOST_IN_A_TRANSACTION = 49;

/** Queues and subscriptions as they are administered. Every read is strongly consistent, except the list of queues and their number. */
export interface Registry {
  /** Creates the queue or replaces its metadata; an existing queue keeps its createdAt. @throws QueueBeingDeletedError */
  putQueue(queue: Queue): Promise<{ kind: 'created' } | { kind: 'replaced'; before: Queue }>;
  /**
   * Replaces a queue's metadata by what `change` makes of it, with nobody else's change in between: `change` may be called
   * again with another state of the queue, and what it throws passes through.
   * @throws ContendedError
   */
  changeQueue(name: string, change: (current: Queue) => Queue): Promise<Changed<Queue>>;
  /** Creates the queue if there is none, and leaves an existing one untouched. @throws QueueBeingDeletedError */
  ensureQueue(queue: Queue): Promise<void>;
  findQueue(name: string): Promise<Queue | undefined>;
  /** By name; those whose name contains `part`, if it is given. @throws InvalidMarkerError */
  listQueues(page: PageRequest, part?: string): Promise<Page<Queue>>;
  /** How many queues there are, or how many whose name contains `part`. */
  countQueues(part?: string): Promise<number>;
  /**
   * From now on there is no such queue for anybody, and none of its subscriptions. What is left of them is for
   * `removeDeletedQueue`. Nothing to delete is no error.
   */
  deleteQueue(name: string, now: number): Promise<void>;
  /** Removes what is left of a deleted queue while there is time, at least a part. True: nothing is left. A queue that was not deleted stays. */
  removeDeletedQueue(name: string, hasTime: () => boolean): Promise<boolean>;
  /** As `addSubscriptions`, one. @throws QueueMissingError */
  addSubscription(subscription: Subscription): Promise<Added>;
  /**
   * Adds up to `MOST_IN_A_TRANSACTION` subscriptions of one queue with different subscribers, and answers in their order. One that
   * is a conflict keeps none of the others back. @throws QueueMissingError and errors of AWS, with none of them added
   */
  addSubscriptions(subscriptions: readonly Subscription[]): Promise<readonly Added[]>;
  /**
   * Takes room for more subscriptions of a queue, or for more that they say; false: it would have more than `most`. What was
   * deleted or has ended counts as long as it is stored, and for a minute more.
   * @throws ContendedError
   */
  takeRoom(queue: string, more: Amount, most: Amount): Promise<boolean>;
  /** One that expired or is marked for deletion as well. */
  findSubscription(queue: string, subscriptionId: string): Promise<Subscription | undefined>;
  /** For each of up to `MOST_IN_A_TRANSACTION` subscribers the subscription that has it, if any; one that expired may still have it. */
  findBySubscribers(
    queue: string,
    subscribers: readonly string[],
  ): Promise<readonly (Subscription | undefined)[]>;
  /** By id; the expired, the disabled and those marked for deletion among them. @throws InvalidMarkerError */
  listSubscriptions(queue: string, page: PageRequest): Promise<Page<Subscription>>;
  /**
   * Makes of a subscription what `change` makes of it; undefined: leave it. What others change at the same time stays: a
   * change that touches what they touched is made again on what they left. One that is marked for deletion is missing. A
   * subscriber that another subscription has is a conflict.
   * @throws ContendedError, and what `change` throws
   */
  changeSubscription(
    target: SubscriptionAt,
    change: (current: Subscription) => Subscription | undefined,
  ): Promise<Changed<Subscription> | { kind: 'conflict'; subscriptionId: string }>;
  /**
   * Marks it for deletion and frees its subscriber at once. Answers with the subscription as marked, now or before;
   * undefined: there is none. Should nobody remove it, it goes by itself some days later.
   * @throws ContendedError
   */
  markDeleted(target: SubscriptionAt): Promise<Subscription | undefined>;
  /** Removes a subscription that is marked for deletion; any other stays. Nothing to remove is no error. */
  removeMarked(queue: string, subscriptionId: string): Promise<void>;
}

/** Whose requests are limited. */
export type Limited = { queue: string; subscriptionId: string };

/**
 * Milliseconds since the epoch. `from`: none before that; where the line ends before it there is none. `until`: none after that,
 * such as when the message expires.
 */
export type WantedSlot = { from?: number | undefined; until?: number | undefined };

/** The lines of subscriptions that limit the rate of their requests. */
export interface RateLimits {
  /**
   * The next slot that nobody has, reserved for the caller alone; where there is none, one without an epoch, which says
   * when to ask again. Whoever misses its slot need not give it back: the line is as fast as its limit, not faster.
   */
  reserve(limited: Limited, limit: RateLimit, wanted?: WantedSlot): Promise<Slot>;
  /** Gives back a slot that is not used, for whoever comes next. Each once. One of a line that is over is nobody's. */
  leave(limited: Limited, slot: Slot): Promise<void>;
}

/** Whose secret it is. What was sealed for one owner cannot be opened for another. */
export type SecretOwner = { queue: string; subscriptionId: string };

/** For whoever makes and takes secrets, and need not read them again. */
export interface SecretSealer {
  /** Ciphertext that may be kept anywhere. Two sealings of one secret differ. */
  seal(owner: SecretOwner, secret: SigningSecret): Promise<string>;
}

/** For whoever signs. */
export interface SecretOpener {
  /** Answers may be an hour old. @throws UnopenedSecretError */
  open(owner: SecretOwner, sealed: string): Promise<SigningSecret>;
}

/** A secret could not be had just now, or never again; that is for the cause to say. It names the owner only. */
export class UnopenedSecretError extends Error {
  override readonly name = 'UnopenedSecretError';
  constructor({ queue, subscriptionId }: SecretOwner, options: ErrorOptions) {
    super(`The signing secret of subscription ${queue}/${subscriptionId} could not be opened`, options);
  }
}
