import { leaseMs } from '../../shared/domain/delivery/lease.ts';
import type { Lease } from '../../shared/domain/delivery/delivery.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { HealthRules } from '../../shared/domain/subscription/health.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Chunks, Deliveries } from '../../shared/ports/deliveries.ts';
import type { Journal, OperatorEvents } from '../../shared/ports/journal.ts';
import type { MessageRecords } from '../../shared/ports/messages.ts';
import type { DeadLetters, DeliveryQueue, Undeliverables } from '../../shared/ports/queues.ts';
import type { Subscriber } from '../../shared/ports/subscriber.ts';
import type { RateLimits, SecretOpener, Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';

export type DeliverPorts = {
  clock: Clock;
  deliveries: Deliveries;
  chunks: Pick<Chunks, 'write' | 'find'>;
  messageRecords: MessageRecords;
  payloads: Payloads;
  subscriptions: Subscriptions;
  rateLimits: RateLimits;
  subscriber: Subscriber;
  secretOpener: SecretOpener;
  deliveryQueue: DeliveryQueue;
  wakeUps: Omit<WakeUps, 'unschedule'>;
  undeliverables: Undeliverables;
  deadLetters: DeadLetters;
  operatorEvents: OperatorEvents;
  journal: Journal;
};

type DeliverSettings = {
  attemptTimeoutMs: number;
  schedulerThresholdSeconds: number;
  retentionMs: number;
  retryAfterCapMs: number;
  defaultRetryPolicy: RetryPolicy;
  userAgent: string;
} & HealthRules;

export type DeliverContext = {
  ports: DeliverPorts;
  settings: DeliverSettings;
  /** Of this instance of the function. */
  healthNotes: HealthNotes;
  memory: MemoryBudget;
};

/** Which changes of subscriptions' health the attempts of one instance have asked for (health.ts). */
export type HealthNotes = {
  /**
   * Makes a change, unless it was settled since the attempt began, or is being made. `make` answers whether it is settled:
   * made, or refused for good. If not, or if it throws, the next attempt that asks for the change makes it.
   */
  once(name: string, startedAt: number, make: () => Promise<boolean>): Promise<void>;
};

/** Memory that the jobs of large messages of one instance share, in the order in which they asked (memory-budget.ts). */
export type MemoryBudget = {
  /** Waits for so many megabytes. Gives them back by the function it answers with; undefined: they were not to be had in time. */
  take: (megabytes: number, waitMs: number) => Promise<(() => void) | undefined>;
};

/** One receive of an SQS message. */
export type Receipt = {
  /** The SQS message, as it came. */
  id: string;
  text: string;
  /** Over 1: it was received before and not acknowledged, so an invocation crashed or ran out of time. */
  receiveCount: number;
  /** Unique to this receive; the owner of the leases that are taken for it. */
  owner: string;
  /** What is left of the invocation, in milliseconds. */
  remainingMs: () => number;
};

/** The owner of what a receive of the SQS message `id` leases. `invocation` is unique to the invocation. */
export function ownerFor(invocation: string, id: string): string {
  return `${invocation}/${id}`;
}

/** Whether the owner of a lease had this very SQS message, at this or an earlier receive. */
export function isOwnerBy(owner: string, { id }: Receipt): boolean {
  return owner.endsWith(`/${id}`);
}

/** A lease for an attempt that begins now: it outlasts the request's deadline and its recording. */
export function leaseFor({ ports, settings }: DeliverContext, { owner }: Receipt): Lease {
  return { owner, until: ports.clock.now() + leaseMs(settings.attemptTimeoutMs) };
}

/** Whether an attempt that begins now can be finished and recorded by this invocation. */
export function hasTimeForAttempt({ settings }: DeliverContext, { remainingMs }: Receipt): boolean {
  return remainingMs() >= leaseMs(settings.attemptTimeoutMs);
}
