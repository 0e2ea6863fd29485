import { LATEST_REQUEST_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import { findLastPause, type Pausable } from '../../../shared/domain/subscription/pause.ts';
import { isConfirmationId } from '../../../shared/domain/subscription/confirmation.ts';
import type { Version } from '../subscription-store.ts';
import { SECOND } from '../scenario.ts';
import { type Invariant, violation } from './delivery-case.ts';

type Span = { from: number; until: number };

/** From when each pause was on record, until its end as it is on record at last. */
const pausesIn = (versions: readonly Version<Pausable | undefined>[]): Span[] => {
  const spans = new Map<number, Span>();
  for (const { from, value } of versions) {
    const pause = findLastPause(value);
    // Another queue of the name.
    if (pause === undefined) for (const span of spans.values()) span.until = Math.min(span.until, from);
    else spans.set(pause.from, { from: spans.get(pause.from)?.from ?? from, until: pause.until ?? Infinity });
  }
  return [...spans.values()];
};

/** The API says when the last request of a paused subscription has begun at the latest. */
export const noRequestInAPause: Invariant = (one) => {
  const { world, subscriptionId, messageId } = one;
  if (isConfirmationId(messageId)) return [];
  const { subscriptions, scenario } = world;
  const spans = [
    ...pausesIn(subscriptions.queueVersions),
    ...pausesIn(subscriptions.versionsOf(subscriptionId)),
  ];
  return one.requests.flatMap(({ at, actor }) => {
    const endsWithin =
      Math.max(actor.settings.cacheSeconds, scenario.settings.cacheSeconds) * SECOND +
      LATEST_REQUEST_MS +
      scenario.skewMs;
    const paused = spans.find(({ from, until }) => at > from + endsWithin && at < until - scenario.skewMs);
    return paused === undefined
      ? []
      : [violation('no_request_in_a_pause', one, `at ${at}, paused since ${paused.from}`)];
  });
};
