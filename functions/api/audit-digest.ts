import type { PartialRetryPolicy } from '../../shared/domain/retry/policy.ts';
import type { DisabledReason, Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';

/** What the audit trail says of a queue: the names of its metadata, whose values may be secret. */
export type QueueDigest = { metadata: readonly string[]; retryPolicy?: PartialRetryPolicy };

export function queueDigest({ metadata, retryPolicy }: Queue): QueueDigest {
  return {
    metadata: Object.keys(metadata).sort(),
    ...(retryPolicy && { retryPolicy }),
  };
}

/**
 * What the audit trail says of a subscription. Path and query of a URL, values of headers, templates and filters may hold
 * secrets, so of those it says that they are there.
 */
export type SubscriptionDigest = {
  /** Scheme, host and port. */
  subscriber: string;
  ttl?: number;
  retryPolicy?: PartialRetryPolicy;
  headers?: readonly string[];
  options: readonly string[];
  disabled?: DisabledReason;
  confirmed: boolean;
};

export function subscriptionDigest(subscription: Subscription): SubscriptionDigest {
  const { subscriber, ttl, options, disabled, unconfirmed } = subscription;
  return {
    subscriber: URL.parse(subscriber)?.origin ?? 'unknown',
    ...(ttl !== undefined && { ttl }),
    ...(options._retry_policy && { retryPolicy: options._retry_policy }),
    ...(options.post_headers && { headers: Object.keys(options.post_headers).sort() }),
    options: Object.keys(options).sort(),
    ...(disabled && { disabled: disabled.reason }),
    confirmed: unconfirmed === undefined,
  };
}

/** `changed` names what differs, down to the single header, so that a changed secret is on the trail and its value is not. */
export type Difference<Digest> = { changed: readonly string[]; before: Digest; after: Digest };

export function queueDifference(before: Queue, after: Queue): Difference<QueueDigest> {
  return {
    changed: namesThatDiffer(before.metadata, after.metadata),
    before: queueDigest(before),
    after: queueDigest(after),
  };
}

export function subscriptionDifference(
  before: Subscription,
  after: Subscription,
): Difference<SubscriptionDigest> {
  return {
    changed: namesThatDiffer(partsOf(before), partsOf(after)),
    before: subscriptionDigest(before),
    after: subscriptionDigest(after),
  };
}

function partsOf({ subscriber, ttl, expiresAt, disabled, unconfirmed, options }: Subscription): object {
  const { post_headers, ...others } = options;
  return {
    subscriber,
    ttl: [ttl, expiresAt],
    disabled,
    confirmed: unconfirmed?.tokenHash,
    ...prefixed('options.', others),
    ...prefixed('options.post_headers.', post_headers ?? {}),
  };
}

function prefixed(prefix: string, parts: object): object {
  return Object.fromEntries(
    Object.entries(parts).map(([name, value]): [string, unknown] => [`${prefix}${name}`, value]),
  );
}

function namesThatDiffer(before: object, after: object): string[] {
  const [was, is] = [
    new Map<string, unknown>(Object.entries(before)),
    new Map<string, unknown>(Object.entries(after)),
  ];
  return [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => canonicalJson(was.get(name)) !== canonicalJson(is.get(name)))
    .sort();
}

/** JSON in which the order of names does not matter: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
