import type { WaitingPlace } from '../../shared/domain/delivery/paused.ts';
import { canonicalJson } from '../../shared/domain/json.ts';
import type { MessageKey } from '../../shared/domain/message/message.ts';
import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { AuthType } from '../../shared/domain/subscription/auth.ts';
import type { SigningScheme, DisableReason } from '../../shared/domain/subscription/vocabulary.ts';
import { findAuth, formatPublicName, toSubscriber } from '../../shared/domain/subscription/destination.ts';
import type { Queue, Subscription, SubscriptionKey } from '../../shared/domain/subscription/subscription.ts';
import type { Logger } from '@aws-lambda-powertools/logger';

/**
 * `principal`: an IAM ARN, a token's subject, the beginning of a pull token's hash, `portal:` and the id of a portal
 * session, or `anonymous` if the deployment requires no authorisation.
 */
export type Caller = { principal: string; requestId: string };

/** What a request changed. Values that may be secret are never logged, only the names of the fields that changed. */
export type Change =
  | { change: 'queue_created'; queue: string; after: QueueDigest }
  | ({ change: 'queue_replaced' | 'queue_changed'; queue: string } & Difference<QueueDigest>)
  | { change: 'queue_deleted' | 'queue_restored'; queue: string }
  /** `until`: absent until it is resumed; RFC 3339. */
  | ({ change: 'queue_paused' | 'subscription_paused'; until?: string } & WaitingPlace)
  | ({ change: 'queue_resumed' | 'subscription_resumed'; perSecond?: number } & WaitingPlace)
  | ({
      change: 'subscription_created' | 'subscription_imported' | 'subscription_restored';
      after: SubscriptionDigest;
    } & SubscriptionKey)
  | ({ change: 'subscription_changed' | 'subscription_enabled' | 'subscription_disabled' } & SubscriptionKey &
      Difference<SubscriptionDigest>)
  | ({ change: 'subscription_confirmed' | 'subscription_unconfirmed' } & SubscriptionKey)
  | ({ change: 'subscription_deleted'; before: SubscriptionDigest } & SubscriptionKey)
  /** `previousExpiresAt`: when the previous secret stops signing; RFC 3339. */
  | ({ change: 'secret_rotated'; scheme: SigningScheme; previousExpiresAt?: string } & SubscriptionKey)
  /** `previousExpiresAt`: when the previous token stops being valid; RFC 3339. */
  | ({ change: 'pull_token_rotated'; previousExpiresAt?: string } & SubscriptionKey)
  /** By pull. `deliveries`: how many; nothing is written if none was received. */
  | ({ change: 'deliveries_received'; deliveries: number } & SubscriptionKey)
  | ({ change: 'delivery_acknowledged' | 'delivery_refused'; attempt: number } & DeliveryName)
  /** `subscriptions`: how many. `secrets`: with signing secrets. Each page of an export has a separate line. */
  | { change: 'credentials_exported'; queue: string; subscriptions: number; secrets?: true }
  | ({ change: 'subscription_tested' } & DeliveryName)
  | { change: 'messages_posted'; queue: string; messageIds: readonly string[] }
  | ({ change: 'delivery_retried' | 'delivery_sent'; round: number } & DeliveryName)
  | ({ change: 'delivery_cancelled' } & DeliveryName)
  | ({ change: 'body_erased' } & MessageKey)
  | {
      change: 'recovery_started';
      queue: string;
      recoveryId: string;
      selection: Record<'since' | 'until', string> &
        Record<'by' | 'subscription' | 'status', string | undefined>;
    }
  | { change: 'recovery_stopped'; queue: string; recoveryId: string }
  | { change: 'event_type_created' | 'event_type_deleted'; eventType: string }
  | { change: 'event_type_replaced'; eventType: string; changed: readonly string[] }
  | {
      change: 'portal_link_created';
      queue: string;
      sessionId: string;
      capabilities: readonly string[];
      eventTypes?: readonly string[];
    }
  | { change: 'portal_link_opened' | 'portal_sessions_ended'; queue: string; sessionId: string };

export type DeliveryName = MessageKey & SubscriptionKey;

export type Audit = (caller: Caller, change: Change) => void;

/** Writes one log line for each change. */
export function auditLog(logger: Logger): Audit {
  return (caller, change) => {
    logger.info('audit', { ...caller, ...change });
  };
}

/** A queue in the audit trail: only the names in its metadata, because the values may be secret. */
type QueueDigest = { metadata: readonly string[]; retryPolicy?: PartialRetryPolicy };

export function queueDigest({ metadata, retryPolicy }: Queue): QueueDigest {
  return {
    metadata: Object.keys(metadata).sort(),
    ...(retryPolicy && { retryPolicy }),
  };
}

/**
 * A subscription in the audit trail. The path and query of the URL and the values of headers, templates and filters may
 * hold secrets, so only their presence is logged; its name is free text and left out.
 */
type SubscriptionDigest = {
  /** Scheme, host and port; of a pull subscription its name. */
  subscriber: string;
  ttl?: number;
  retryPolicy?: PartialRetryPolicy;
  headers?: readonly string[];
  options: readonly string[];
  /** How requests authenticate. */
  auth?: AuthType;
  disabled?: DisableReason;
  confirmed: boolean;
};

export function subscriptionDigest(subscription: Subscription): SubscriptionDigest {
  const { destination, ttl, options, disabled, unconfirmed } = subscription;
  const auth = findAuth(destination);
  return {
    subscriber: formatPublicName(destination),
    ...(ttl !== undefined && { ttl }),
    ...(options._retry_policy && { retryPolicy: options._retry_policy }),
    ...(options.post_headers && { headers: Object.keys(options.post_headers).sort() }),
    options: Object.keys(options).sort(),
    ...(auth && { auth: auth.shown.type }),
    ...(disabled && { disabled: disabled.reason }),
    confirmed: unconfirmed === undefined,
  };
}

/** `changed` names the fields that differ, down to single headers, without their values. */
type Difference<Digest> = { changed: readonly string[]; before: Digest; after: Digest };

export function queueDifference(before: Queue, after: Queue): Difference<QueueDigest> {
  return {
    changed: changedNames(before.metadata, after.metadata),
    before: queueDigest(before),
    after: queueDigest(after),
  };
}

export function subscriptionDifference(
  before: Subscription,
  after: Subscription,
): Difference<SubscriptionDigest> {
  return {
    changed: changedNames(auditedParts(before), auditedParts(after)),
    before: subscriptionDigest(before),
    after: subscriptionDigest(after),
  };
}

function auditedParts(subscription: Subscription): object {
  const { name, destination, ttl, expiresAt, disabled, unconfirmed, options } = subscription;
  const { post_headers, ...others } = options;
  return {
    name,
    subscriber: toSubscriber(destination),
    ttl: [ttl, expiresAt],
    disabled,
    confirmed: unconfirmed?.tokenHash,
    ...withPrefix('options.', others),
    ...withPrefix('options.post_headers.', post_headers ?? {}),
    'options.auth': findAuth(destination)?.sealed,
  };
}

function withPrefix(prefix: string, parts: object): object {
  return Object.fromEntries(
    Object.entries(parts).map(([name, value]): [string, unknown] => [`${prefix}${name}`, value]),
  );
}

/** The fields that differ, by name. */
export function changedNames(before: object, after: object): string[] {
  const was = new Map<string, unknown>(Object.entries(before));
  const is = new Map<string, unknown>(Object.entries(after));
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => canonicalJson(was.get(name)) !== canonicalJson(is.get(name)))
    .sort();
}
