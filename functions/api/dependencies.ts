import type { Hono } from 'hono';
import type { DeliveryJob } from '../../shared/domain/delivery/job.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { Amount } from '../../shared/domain/subscription/room.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Deliveries, DeliveryListings, Recoveries } from '../../shared/ports/deliveries.ts';
import type { DeliveryQueue, Ingress, Operations, QueueDepths } from '../../shared/ports/queues.ts';
import type { MessageListings, MessageRecords } from '../../shared/ports/messages.ts';
import type { Journal, OperatorEvents } from '../../shared/ports/journal.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { RateLimits, Registry, SecretSealer } from '../../shared/ports/subscriptions.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import type { Audit, Caller } from './audit.ts';
import type { Claims, TokenRules } from './permission.ts';

/** What the API works with. */
export type ApiDependencies = ApiPorts & { settings: ApiSettings };

export type ApiPorts = {
  registry: Registry;
  messageRecords: MessageRecords;
  messageListings: MessageListings;
  payloads: Payloads;
  deliveries: Deliveries;
  deliveryListings: DeliveryListings;
  /** Whose places in a line are given to others when deliveries are cancelled. */
  rateLimits: RateLimits;
  recoveries: Recoveries;
  ingress: Ingress;
  /** Takes our own messages to one subscription, which skip dispatch. */
  deliveryQueue: DeliveryQueue<DeliveryJob>;
  operations: Operations;
  queueDepths: QueueDepths;
  /** For manual retries, and to delete schedules that are no longer needed. */
  wakeUps: Pick<WakeUps, 'sendDelayed' | 'unschedule'>;
  secretSealer: SecretSealer;
  operatorEvents: OperatorEvents;
  journal: Journal;
  clock: Clock;
  /** A fresh id, valid for a subscription and for a message. */
  newId: () => string;
  /** Cryptographically secure. */
  randomBytes: (bytes: number) => Uint8Array;
  /** Why this URL cannot be a subscriber; undefined if it can. */
  subscriberFault: (url: string) => string | undefined;
  audit: Audit;
  /** Logs a fault of ours with the id of the request and the ids in its path. */
  reportFault: (fault: Error, ids: Caller & Readonly<Record<string, string>>) => void;
};

/** Times in milliseconds. */
export type ApiSettings = TokenRules & {
  /** The version of Posthaste, for the OpenAPI document. */
  version: string;
  /** Completes a partial policy, and is checked together with it. */
  defaultRetryPolicy: RetryPolicy;
  /** How long records are kept. */
  retentionMs: number;
  /** The most that a Retry-After adds to a delay. */
  retryAfterCapMs: number;
  /** How long past due a retry counts as overdue. */
  overdueAfterMs: number;
  /** Every new subscriber has to confirm, whatever the metadata of its queue says. */
  subscriptionConfirmation: boolean;
  /** How much a queue's subscriptions may be. */
  mostOfQueue: Amount;
};

/** Hono's environment: each request comes with its caller, the claims of its token, and the public URL of the API. */
export type ApiEnvironment = { Bindings: { caller: Caller; claims?: Claims; publicUrl: string } };

export type Api = Hono<ApiEnvironment>;
