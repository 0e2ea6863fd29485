import { LATEST_REQUEST_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import type { Pausable, Pause } from '../../../shared/domain/subscription/pause.ts';
import { isConfirmationId } from '../../../shared/domain/subscription/confirmation.ts';
import type { Version } from '../subscription-store.ts';
import { SECOND } from '../scenario.ts';
import { type DeliveryCase, type Finding, type Invariant, violation } from './delivery-case.ts';

type Span = { from: number; until: number };

/** From when each pause was on record, until its end as it is on record at last. */
const pausesIn = (versions: readonly Version<Pausable | undefined>[]): Span[] => {
  const spans = new Map<number, Span>();
  for (const { from, value } of versions) {
    const { pauses = [] } = value ?? {};
    if (pauses.length === 0) endAll(spans.values(), from);
    for (const pause of pauses) spans.set(pause.from, toSpan(pause, spans.get(pause.from), from));
  }
  return [...spans.values()];
};

const toSpan = ({ until = Infinity }: Pause, known: Span | undefined, from: number): Span => ({
  from: known?.from ?? from,
  until,
});

/** Another queue of the name is not paused. */
const endAll = (spans: Iterable<Span>, at: number): void => {
  for (const span of spans) span.until = Math.min(span.until, at);
};

/** From each deletion to its restoration, in parts. */
export const deletionsIn = (
  versions: readonly Version<{ createdAt: number; deletedAt?: number } | undefined>[],
): Span[] =>
  versions.flatMap(({ from, value }, index) =>
    value === undefined || value.deletedAt !== undefined
      ? [{ from, until: versions[index + 1]?.from ?? Infinity }]
      : [],
  );

/** The API says when the last request of what is paused or deleted has begun at the latest. */
export const noRequestInAPauseOrDeletion: Invariant = (one) => {
  const { world, subscriptionId, messageId } = one;
  if (isConfirmationId(messageId)) return [];
  const { subscriptions } = world;
  const versions = [subscriptions.queueVersions, subscriptions.versionsOf(subscriptionId)];
  return [
    ...requestsIn(versions.flatMap(pausesIn), 'no_request_in_a_pause', one),
    ...requestsIn(versions.flatMap(deletionsIn), 'no_request_while_deleted', one),
  ];
};

const requestsIn = (spans: readonly Span[], invariant: string, one: DeliveryCase): Finding[] => {
  const { scenario } = one.world;
  return one.requests.flatMap(({ at, actor }) => {
    const endsWithin =
      Math.max(actor.settings.cacheSeconds, scenario.settings.cacheSeconds) * SECOND +
      LATEST_REQUEST_MS +
      scenario.skewMs;
    const span = spans.find(({ from, until }) => at > from + endsWithin && at < until - scenario.skewMs);
    return span === undefined ? [] : [violation(invariant, one, `at ${at}, since ${span.from}`)];
  });
};
