import type { Hono } from 'hono';
import type { DeliveryJob } from '../../shared/domain/delivery/job.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Deliveries, DeliveryListings, Recoveries } from '../../shared/ports/deliveries.ts';
import type { DeliveryQueue, Ingress, Operations, QueueDepths } from '../../shared/ports/queues.ts';
import type { MessageListings, MessageRecords } from '../../shared/ports/messages.ts';
import type { Journal, OperatorEvents } from '../../shared/ports/journal.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { SecretSealer, Registry } from '../../shared/ports/subscriptions.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import type { Audit, Caller } from './audit.ts';

/** What the API is made of. */
export type ApiDependencies = {
  /** Of the product, for the API's description. */
  version: string;
  registry: Registry;
  messageRecords: MessageRecords;
  messageListings: MessageListings;
  payloads: Payloads;
  deliveries: Deliveries;
  deliveryListings: DeliveryListings;
  ingress: Ingress;
  recoveries: Recoveries;
  operations: Operations;
  queueDepths: QueueDepths;
  operatorEvents: OperatorEvents;
  /** Where what we send to one subscription ourselves goes, past dispatch. */
  deliveryQueue: DeliveryQueue<DeliveryJob>;
  secretSealer: SecretSealer;
  /** For retries by hand, and for schedules that nobody needs any more. */
  wakeUps: Pick<WakeUps, 'sendDelayed' | 'unschedule'>;
  journal: Journal;
  clock: Clock;
  /** A fresh id, safe as a subscription's and as a message's. */
  newId: () => string;
  /** As many bytes as asked for, which nobody can guess. */
  randomBytes: (bytes: number) => Uint8Array;
  settings: ApiSettings;
  /** Completes a partial policy, so it is checked together with it. */
  defaultRetryPolicy: RetryPolicy;
  /** Why we would never call this URL; undefined where we would. */
  subscriberFault: (url: string) => string | undefined;
  audit: Audit;
  /** Hears of every fault of ours, with the id of the request that met it, and of what the request was about. */
  reportFault: (fault: Error, ids: Caller & Readonly<Record<string, string>>) => void;
};

/** Times in milliseconds. */
export type ApiSettings = {
  /** How long records are kept. */
  retentionMs: number;
  /** The most that a Retry-After adds to a delay. */
  retryAfterCapMs: number;
  /** How long past due a retry counts as overdue. */
  overdueAfterMs: number;
  /** Every new subscriber is asked whether it wants to be one, whatever its queue says. */
  subscriptionConfirmation: boolean;
};

/** Hono's environment: each request comes with its caller, and with where the API is reached from outside. */
export type ApiEnvironment = { Bindings: { caller: Caller; publicUrl: string } };

export type Api = Hono<ApiEnvironment>;
