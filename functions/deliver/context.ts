import { leaseMs } from '../../shared/domain/retry/attempt-duration.ts';
import type { Lease } from '../../shared/domain/delivery/delivery.ts';
import type { Render } from '../../shared/domain/message/payload.ts';
import type { HealthRules } from '../../shared/domain/subscription/health.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Chunks, Deliveries } from '../../shared/ports/deliveries.ts';
import type { Journal, OperatorEvents } from '../../shared/ports/journal.ts';
import type { MessageRecords } from '../../shared/ports/messages.ts';
import type { DeadLetters, DeliveryQueue, Operations, Undeliverables } from '../../shared/ports/queues.ts';
import type { AccessTokens, Subscriber } from '../../shared/ports/subscriber.ts';
import type { CountingWindows, RateLimits } from '../../shared/ports/pace.ts';
import type { SecretOpener, Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import type { ReceiverCounts } from '../../shared/domain/subscription/back-pressure.ts';
import type { RetryDefaults } from '../../shared/domain/subscription/delivery-policy.ts';
import type { SubscriptionKey } from '../../shared/domain/subscription/subscription.ts';

export type DeliverPorts = {
  clock: Clock;
  deliveries: Deliveries;
  chunks: Pick<Chunks, 'write' | 'find'>;
  messageRecords: MessageRecords;
  payloads: Payloads;
  subscriptions: Subscriptions;
  rateLimits: RateLimits;
  countingWindows: CountingWindows;
  render: Render;
  subscriber: Subscriber;
  accessTokens: AccessTokens;
  secretOpener: SecretOpener;
  deliveryQueue: DeliveryQueue;
  wakeUps: Omit<WakeUps, 'unschedule'>;
  undeliverables: Undeliverables;
  deadLetters: DeadLetters;
  operations: Operations;
  operatorEvents: OperatorEvents;
  journal: Journal;
};

type DeliverSettings = {
  attemptTimeoutMs: number;
  schedulerThresholdSeconds: number;
  retentionMs: number;
  retryAfterCapMs: number;
  userAgent: string;
  /** Whether deleted queues can be restored. */
  leavesArchives: boolean;
} & HealthRules &
  RetryDefaults;

export type DeliverContext = {
  ports: DeliverPorts;
  settings: DeliverSettings;
  /** Shared by the invocations of this function instance. */
  healthWrites: HealthWrites;
  pendingCounts: PendingCounts;
  memory: MemoryBudget;
};

/** Lets concurrent attempts of one function instance write each health change only once (health.ts). */
export type HealthWrites = {
  /**
   * Calls `write` unless the named change is being written, or was settled after the attempt began. `write` returns
   * whether the change is settled: written or permanently refused. If not, the next attempt writes it again.
   */
  once(name: string, startedAt: number, write: () => Promise<boolean>): Promise<void>;
};

/** What one function instance counted of watched subscriptions, and has not added to their windows (pressure.ts). */
export type PendingCounts = {
  /** Of a version of the pressure. The caller changes it. `triedAt`: when the instance last tried to add. */
  of(subscription: SubscriptionKey, version: number): { counts: ReceiverCounts; triedAt: number };
};

/**
 * Memory that jobs with large messages share in one function instance, first come, first served (memory-budget.ts).
 */
export type MemoryBudget = {
  /** Waits up to `waitMs` for memory. Returns a function that releases it; undefined: not available in time. */
  take: (megabytes: number, waitMs: number) => Promise<(() => void) | undefined>;
};

/** One receive of an SQS message (not its receipt handle). */
export type SqsReceipt = {
  /** The id of the SQS message. */
  id: string;
  /** The body of the SQS message. */
  text: string;
  /** Above 1: an earlier receive was not acknowledged, because an invocation crashed, failed or ran out of time. */
  receiveCount: number;
  /** Owner of the leases taken for this receive. Unique per receive. */
  owner: string;
  /** Time left in the invocation, in milliseconds. */
  remainingMs: () => number;
};

/** The lease owner for a receive of the SQS message `id`. `receive` is unique: a batch can contain a message twice. */
export function ownerFor(receive: string, id: string): string {
  return `${receive}/${id}`;
}

/** Whether the lease was taken for this SQS message, at this or an earlier receive. */
export function isOwnedByMessage(owner: string, { id }: SqsReceipt): boolean {
  return owner.endsWith(`/${id}`);
}

/** A lease for an attempt that begins now. It covers the request timeout and the time to record the result. */
export function leaseFor({ ports, settings }: DeliverContext, { owner }: SqsReceipt): Lease {
  return { owner, until: ports.clock.now() + leaseMs(settings.attemptTimeoutMs) };
}

/** Whether this invocation has time to make and record an attempt that begins now. */
export function hasTimeForAttempt({ settings }: DeliverContext, { remainingMs }: SqsReceipt): boolean {
  return remainingMs() >= leaseMs(settings.attemptTimeoutMs);
}
