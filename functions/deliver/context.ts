import type { AttemptTrigger } from '../../shared/domain/vocabulary.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { leaseMs, requestMs } from '../../shared/domain/delivery/lease.ts';
import type { MessageBody } from '../../shared/domain/message/body.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { HealthRules } from '../../shared/domain/subscription/health.ts';
import type { Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Chunks, Deliveries } from '../../shared/ports/deliveries.ts';
import type { Journal, OperatorEvents } from '../../shared/ports/journal.ts';
import type { MessageRecords } from '../../shared/ports/messages.ts';
import type { DeadLetters, DeliveryQueue, Undeliverables } from '../../shared/ports/queues.ts';
import type { Subscriber } from '../../shared/ports/subscriber.ts';
import type { RateLimits, SecretOpener, Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import type { HealthNotes } from './health-notes.ts';

export type DeliverPorts = {
  clock: Clock;
  deliveries: Deliveries;
  chunks: Pick<Chunks, 'write'>;
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
};

/** One receive of a job or wake-up. */
export type Received = {
  /** The SQS message, as it came. */
  id: string;
  text: string;
  /** Over 1: it was received before and not acknowledged, so whoever had it crashed or ran out of time. */
  receiveCount: number;
  /** Unique to this receive; the name on the lease. */
  owner: string;
  /** What is left of the invocation, in milliseconds. */
  remainingMs: () => number;
};

/** When a lease taken now runs out: later than the request's deadline and its recording. */
export function leaseUntil(now: number, settings: DeliverSettings): number {
  return now + leaseMs(settings.attemptTimeoutMs);
}

/** Whether an attempt begun now can be finished and recorded by this invocation. */
export function hasTimeForAttempt(received: Received, settings: DeliverSettings): boolean {
  return received.remainingMs() >= leaseMs(settings.attemptTimeoutMs);
}

/** Whether a request sent now can be answered, however late, and recorded within `leftMs`. */
export function hasTimeForRequest(leftMs: number, settings: DeliverSettings): boolean {
  return leftMs >= requestMs(settings.attemptTimeoutMs);
}

/** Whom a delivery is for, as read for the attempt at hand. */
type Target = { queue: Queue | undefined; subscription: Subscription | undefined };

/** A delivery whose lease we hold, and all that its attempts need. */
export type HeldDelivery = {
  work: DeliveryJob | WakeUp;
  received: Received;
  delivery: Delivery;
  target: Target;
  /** What brought the attempt at hand about. */
  by?: AttemptTrigger;
  message: Message;
  /** Where the message came from. */
  body: MessageBody;
};

/** What is left of the lease and of the invocation, in milliseconds. */
export function timeLeftMs({ ports }: DeliverContext, { delivery, received }: HeldDelivery): number {
  return Math.min((delivery.lease?.until ?? 0) - ports.clock.now(), received.remainingMs());
}
