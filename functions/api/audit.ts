import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { AuthType } from '../../shared/domain/subscription/auth.ts';
import type { SigningScheme, DisableReason } from '../../shared/domain/subscription/vocabulary.ts';
import { authOf, publicNameOf, subscriberOf } from '../../shared/domain/subscription/destination.ts';
import type { Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Logger } from '@aws-lambda-powertools/logger';

/**
 * `principal`: an IAM ARN, a token's subject, the beginning of a pull token's hash, or `anonymous` if the deployment
 * requires no authorisation.
 */
export type Caller = { principal: string; requestId: string };

/** What a request changed. Values that may be secret are never logged, only the names of the fields that changed. */
export type Change =
  | { change: 'queue_created'; queue: string; after: QueueDigest }
  | ({ change: 'queue_replaced' | 'queue_changed'; queue: string } & Difference<QueueDigest>)
  | { change: 'queue_deleted'; queue: string }
  | {
      change: 'subscription_created' | 'subscription_imported';
      queue: string;
      subscriptionId: string;
      after: SubscriptionDigest;
    }
  | ({
      change: 'subscription_changed' | 'subscription_enabled' | 'subscription_disabled';
      queue: string;
      subscriptionId: string;
    } & Difference<SubscriptionDigest>)
  | { change: 'subscription_confirmed'; queue: string; subscriptionId: string }
  | { change: 'subscription_unconfirmed'; queue: string; subscriptionId: string }
  | { change: 'subscription_deleted'; queue: string; subscriptionId: string; before: SubscriptionDigest }
  | {
      change: 'secret_rotated';
      queue: string;
      subscriptionId: string;
      scheme: SigningScheme;
      /** When the previous secret stops signing; RFC 3339. */
      previousExpiresAt?: string;
    }
  | {
      change: 'pull_token_rotated';
      queue: string;
      subscriptionId: string;
      /** When the previous token stops being valid; RFC 3339. */
      previousExpiresAt?: string;
    }
  /** By pull. `deliveries`: how many; nothing is written if none was received. */
  | { change: 'deliveries_received'; queue: string; subscriptionId: string; deliveries: number }
  | {
      change: 'delivery_acknowledged' | 'delivery_refused';
      queue: string;
      messageId: string;
      subscriptionId: string;
      attempt: number;
    }
  /** `subscriptions`: how many. Each page of an export has a separate line. */
  | { change: 'credentials_exported'; queue: string; subscriptions: number }
  | { change: 'subscription_tested'; queue: string; subscriptionId: string; messageId: string }
  | { change: 'messages_posted'; queue: string; messageIds: readonly string[] }
  | {
      change: 'delivery_retried' | 'delivery_sent';
      queue: string;
      messageId: string;
      subscriptionId: string;
      round: number;
    }
  | { change: 'delivery_cancelled'; queue: string; messageId: string; subscriptionId: string }
  | { change: 'body_erased'; queue: string; messageId: string }
  | {
      change: 'recovery_started';
      queue: string;
      recoveryId: string;
      selection: { since: string; until: string; subscription?: string; status?: string };
    }
  | { change: 'recovery_stopped'; queue: string; recoveryId: string };

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
  const { destination, ttl, disabled, unconfirmed } = subscription;
  return {
    subscriber: publicNameOf(destination),
    ...(ttl !== undefined && { ttl }),
    ...optionsDigest(subscription),
    ...(disabled && { disabled: disabled.reason }),
    confirmed: unconfirmed === undefined,
  };
}

function optionsDigest({
  options,
  destination,
}: Subscription): Pick<SubscriptionDigest, 'retryPolicy' | 'headers' | 'options' | 'auth'> {
  const auth = authOf(destination);
  return {
    ...(options._retry_policy && { retryPolicy: options._retry_policy }),
    ...(options.post_headers && { headers: Object.keys(options.post_headers).sort() }),
    options: Object.keys(options).sort(),
    ...(auth && { auth: auth.shown.type }),
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
    subscriber: subscriberOf(destination),
    ttl: [ttl, expiresAt],
    disabled,
    confirmed: unconfirmed?.tokenHash,
    ...withPrefix('options.', others),
    ...withPrefix('options.post_headers.', post_headers ?? {}),
    'options.auth': authOf(destination)?.sealed,
  };
}

function withPrefix(prefix: string, parts: object): object {
  return Object.fromEntries(
    Object.entries(parts).map(([name, value]): [string, unknown] => [`${prefix}${name}`, value]),
  );
}

function changedNames(before: object, after: object): string[] {
  const [was, is] = [
    new Map<string, unknown>(Object.entries(before)),
    new Map<string, unknown>(Object.entries(after)),
  ];
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => canonicalJson(was.get(name)) !== canonicalJson(is.get(name)))
    .sort();
}

/** JSON with sorted names: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
