import type { RetryPolicy } from '../domain/retry-policy.ts';
import type { HealthRules } from '../domain/subscription-health.ts';
import type { Chunks } from '../ports/chunks.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeadLetters, Undeliverables } from '../ports/dead-letters.ts';
import type { Deliveries } from '../ports/deliveries.ts';
import type { DeliveryQueue } from '../ports/delivery-queue.ts';
import type { Journal } from '../ports/journal.ts';
import type { MessageRecords } from '../ports/message-records.ts';
import type { OperatorEvents } from '../ports/operator-events.ts';
import type { Payloads } from '../ports/payloads.ts';
import type { RateLimits } from '../ports/rate-limits.ts';
import type { SecretOpener } from '../ports/signing-secrets.ts';
import type { Subscriber } from '../ports/subscriber.ts';
import type { Subscriptions } from '../ports/subscriptions.ts';
import type { WakeUps } from '../ports/wake-ups.ts';
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

export type DeliverSettings = {
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

/** What reading the subscription and the message may take between the claim and the request. */
const PREPARING_MS = 3_000;

/** What keeping the body, recording the attempt and arming its wake-up may take after the request. */
const RECORDING_MS = 5_000;

const attemptMs = (settings: DeliverSettings): number =>
  PREPARING_MS + settings.attemptTimeoutMs + RECORDING_MS;

/** When a lease taken now runs out: later than the request's deadline and its recording. */
export const leaseUntil = (now: number, settings: DeliverSettings): number => now + attemptMs(settings);

/** Whether an attempt begun now can be finished and recorded by this invocation. */
export const hasTimeForAttempt = (received: Received, settings: DeliverSettings): boolean =>
  received.remainingMs() >= attemptMs(settings);

/** Whether a request sent now can be answered, however late, and recorded within `leftMs`. */
export const hasTimeForRequest = (leftMs: number, settings: DeliverSettings): boolean =>
  leftMs >= settings.attemptTimeoutMs + RECORDING_MS;
