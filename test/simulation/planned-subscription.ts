import type { Selection, Subscription } from '../../shared/domain/subscription/subscription.ts';
import { makeSecret, secretText } from '../../shared/domain/subscription/signing-secret.ts';
import { tokenHashOf } from '../../shared/domain/subscription/confirmation.ts';
import { HOUR, QUEUE, SECOND, START, type PlannedInterests, type PlannedSubscription } from './scenario.ts';

/** A subscription as it was made at that time. Where it has to confirm, it has yet to be asked. */
export function subscriptionOf(
  planned: PlannedSubscription,
  { subscriber, createdAt }: Pick<Subscription, 'subscriber' | 'createdAt'>,
): Subscription {
  const { id, policy, rawDelivery, maxPerSecond, interests, confirmation, ttlSeconds, failures } = planned;
  return {
    id,
    queue: QUEUE,
    subscriber,
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
      : { unconfirmed: { tokenHash: tokenHashOf(id), at: createdAt, owed: true } }),
    ...(failures === 0 ? {} : { failing: { since: START - HOUR, failures } }),
    ...(ttlSeconds === undefined ? {} : { expiresAt: createdAt + ttlSeconds * SECOND }),
  };
}

/** As many rules as a filter may have nearly, on each element of a list (docs/api.md, "Filters"). */
const COSTLY = { x: Array.from({ length: 90 }, (_, index) => ({ suffix: `no ${index}` })) };

/** Interests as they are given to the API. */
export function interestsOf({ types, keys, isCostly }: PlannedInterests): Selection {
  const filter = { ...(keys === undefined ? {} : { k: keys }), ...(isCostly ? { l: COSTLY } : {}) };
  return {
    ...(types === undefined ? {} : { event_types: types }),
    ...(Object.keys(filter).length === 0 ? {} : { filter }),
  };
}
