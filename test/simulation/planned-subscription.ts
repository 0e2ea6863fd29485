import { authFor } from './simulated-tokens.ts';
import { parseDestination, withAuth } from '../../shared/domain/subscription/destination.ts';
import type { Pressure, Selection, Subscription } from '../../shared/domain/subscription/subscription.ts';
import { makeSecret, secretText } from '../../shared/domain/subscription/signing-secret.ts';
import { hashToken } from '../../shared/domain/subscription/confirmation.ts';
import { HOUR, QUEUE, SECOND, START, type PlannedInterests, type PlannedSubscription } from './scenario.ts';

/** A subscription as it was created. If it has to confirm, its confirmation request is still pending. */
export function subscriptionOf(
  planned: PlannedSubscription,
  { subscriber, createdAt }: { subscriber: string; createdAt: number },
): Subscription {
  const { id, policy, rawDelivery, maxPerSecond, interests, confirmation, ttlSeconds, failures, pressed } =
    planned;
  return {
    id,
    queue: QUEUE,
    destination: withAuth(parseDestination(subscriber), authFor(planned)),
    options: {
      ...(policy === undefined ? {} : { _retry_policy: policy }),
      ...(rawDelivery ? { raw_delivery: true } : {}),
      ...(maxPerSecond === undefined ? {} : { max_per_second: maxPerSecond }),
      ...interestsOf(interests),
    },
    createdAt,
    secrets: [{ sealed: secretText(makeSecret('v1', (bytes) => new Uint8Array(bytes))) }],
    ...(confirmation === undefined
      ? {}
      : { unconfirmed: { tokenHash: hashToken(id), at: createdAt, owed: true } }),
    ...(failures === 0 ? {} : { failing: { since: START - HOUR, failures } }),
    ...(pressed && { pressure: pressureOf(pressed, createdAt) }),
    ...(ttlSeconds === undefined ? {} : { expiresAt: createdAt + ttlSeconds * SECOND }),
  };
}

const pressureOf = (state: 'slowed' | 'held', at: number): Pressure =>
  state === 'held'
    ? { state, at, since: at }
    : { state, at, since: at, line: at, perSecond: 1, askAgainMs: 10 * SECOND };

/** Nearly the maximum number of rules, applied to each element of a list (docs/api.md#choose-messages). */
const EXPENSIVE = { x: Array.from({ length: 90 }, (_, index) => ({ suffix: `no ${index}` })) };

/** Interests in the form of the API. */
export function interestsOf({ types, keys, isExpensive }: PlannedInterests): Selection {
  const filter = { ...(keys === undefined ? {} : { k: keys }), ...(isExpensive ? { l: EXPENSIVE } : {}) };
  return {
    ...(types === undefined ? {} : { event_types: [...types] }),
    ...(Object.keys(filter).length === 0 ? {} : { filter }),
  };
}
