import type { DeliveryJob } from '../../shared/domain/delivery/job.ts';
import type { EventValidation } from '../../shared/domain/subscription/vocabulary.ts';
import type { Render } from '../../shared/domain/message/payload.ts';
import type { RetryDefaults } from '../../shared/domain/subscription/delivery-policy.ts';
import type { PortalLimits } from '../../shared/domain/portal/limits.ts';
import type { Amount } from '../../shared/domain/subscription/room.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { CheckSchema, EventTypes } from '../../shared/ports/event-types.ts';
import type { DeliveryListings, NamedDeliveries, Recoveries } from '../../shared/ports/deliveries.ts';
import type { DeliveryQueue, Ingress, Operations, QueueDepths } from '../../shared/ports/queues.ts';
import type { MessageListings, MessageRecords } from '../../shared/ports/messages.ts';
import type { Journal, OperatorEvents } from '../../shared/ports/journal.ts';
import type { PortalSessions } from '../../shared/ports/portal-sessions.ts';
import type { QueueStatistics } from '../../shared/ports/statistics.ts';
import type { Payloads } from '../../shared/ports/bodies.ts';
import type { RateLimits } from '../../shared/ports/pace.ts';
import type { Registry, SecretOpener, SecretSealer } from '../../shared/ports/subscriptions.ts';
import type { WakeUps } from '../../shared/ports/wake-ups.ts';
import type { EventChecks } from '../../shared/steps/check-event.ts';
import type { BodyRetention } from '../../shared/steps/retention.ts';
import type { Audit, Caller } from './audit.ts';
import type { TokenRules } from './permission.ts';

export type ApiDependencies = ApiPorts & { settings: ApiSettings };

/** Of the routes that open secrets, which a separate function serves. */
export type SecretDependencies = CommonPorts & {
  /** For deliveries that are received by pull, with the headers of a push, and for stored credentials. */
  secretOpener: SecretOpener;
  settings: TokenRules & Pick<ApiSettings, 'userAgent' | 'retentionMs' | 'retryAfterCapMs'>;
};

/** The ports of both functions of the API. */
export type CommonPorts = {
  registry: Registry;
  messageRecords: MessageRecords;
  payloads: Payloads;
  render: Render;
  deliveries: NamedDeliveries;
  journal: Journal;
  clock: Clock;
  /** Cryptographically secure. */
  randomBytes: (bytes: number) => Uint8Array;
  audit: Audit;
  /** Logs an internal error with the id of the request and the ids in its path. */
  reportFault: (fault: Error, ids: Caller & Readonly<Record<string, string>>) => void;
};

export type ApiPorts = CommonPorts & {
  messageListings: MessageListings;
  statistics: Pick<QueueStatistics, 'minutes'>;
  deliveryListings: DeliveryListings;
  /** For cancelled deliveries, which return their slots. */
  rateLimits: RateLimits;
  recoveries: Recoveries;
  eventTypes: EventTypes;
  checkSchema: CheckSchema;
  /** For messages that are published by the API, and `validateEvent` for examples. */
  eventChecks: EventChecks;
  portalSessions: PortalSessions;
  ingress: Ingress;
  /** For tests and confirmation requests, which go to one subscription and skip dispatch. */
  deliveryQueue: DeliveryQueue<DeliveryJob>;
  operations: Operations;
  queueDepths: QueueDepths;
  /** For manual retries, and to delete schedules that are no longer needed. */
  wakeUps: Pick<WakeUps, 'sendDelayed' | 'unschedule'>;
  secretSealer: SecretSealer;
  operatorEvents: OperatorEvents;
  /** A new unique id, valid for subscriptions and messages. */
  newId: () => string;
  /** Why this URL is refused as a subscriber; undefined if it is accepted. */
  subscriberFault: (subscriber: string) => string | undefined;
  /** The same for the token endpoint of a subscriber's authorisation server. */
  tokenUrlFault: (url: string) => string | undefined;
};

/** For changes of queues and subscriptions, and for messages to one subscription. */
export type ChangeContext = Pick<
  ApiPorts,
  | 'clock'
  | 'deliveryQueue'
  | 'journal'
  | 'messageRecords'
  | 'newId'
  | 'operations'
  | 'payloads'
  | 'randomBytes'
  | 'registry'
  | 'secretSealer'
> & {
  settings: BodyRetention &
    Pick<ApiSettings, 'queueLimit' | 'subscriptionCacheMs' | 'subscriptionConfirmation'>;
};

/** Times in milliseconds. `defaultRetryPolicy` also supplies the fields that a partial policy omits. */
export type ApiSettings = TokenRules &
  RetryDefaults & {
    /** The version of Posthaste, for the OpenAPI document. */
    version: string;
    /** User-Agent header of requests to subscribers. */
    userAgent: string;
    /** How long records are kept. */
    retentionMs: number;
    /** How long what is deleted can be restored. */
    archiveMs: number;
    /** The longest extra delay that a Retry-After header can cause. */
    retryAfterCapMs: number;
    /** The longest attempt, and how old the subscriptions may be that first attempts use. */
    attemptTimeoutMs: number;
    subscriptionCacheMs: number;
    /** How long past due a retry counts as overdue. */
    overdueAfterMs: number;
    /** Every new subscriber must confirm, even if the metadata of its queue does not require it. */
    subscriptionConfirmation: boolean;
    /** How messages are checked against the catalogue, where their queue does not say. */
    eventValidation: EventValidation;
    /** Whether the functions write counters per queue and minute. */
    queueStatistics: boolean;
    /** The most subscriptions, and bytes of subscriptions, that a queue can have: dispatch reads all for each message. */
    queueLimit: Amount;
    /** Undefined: the deployment has no portal. */
    portal: PortalSettings | undefined;
  };

/** `roleArn`: of the role that the portal assumes for each session. `responseBodies`: whether tenants see those of their receivers. */
export type PortalSettings = {
  roleArn: string;
  title: string;
  accent: string | undefined;
  limits: PortalLimits;
  responseBodies: boolean;
};
