import { canonicalJson } from '../audit.ts';
import { unredacted } from '../../../shared/domain/subscription/credential-headers.ts';
import { type Subscription, isPresent } from '../../../shared/domain/subscription/subscription.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { Page } from '../../../shared/ports/page.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';
import { subscribe, type SubscribeContext, type SubscriptionRequest } from './subscribe.ts';
import { updateSubscription, type SubscriptionChange } from './change.ts';

/** Lines of one export or import: so many writes, one after the other, fit into the 29 s of a request. */
export const MOST_LINES = 500;

/** Subscriptions of one read: with options of 64 KiB each they still fit into one import. */
const PAGE = 10;

/**
 * The present subscriptions of a queue from `marker` on: at least one read, at most 500, and while `fits` accepts them.
 * @throws InvalidMarkerError
 */
export async function readExportPage(
  {
    registry,
    clock,
  }: {
    registry: Pick<Registry, 'listSubscriptions'>;
    clock: Pick<Clock, 'now'>;
  },
  { queue, marker }: { queue: string; marker?: string },
  fits: (subscriptions: readonly Subscription[]) => boolean,
): Promise<Page<Subscription>> {
  let taken: readonly Subscription[] = [];
  let next = marker;
  for (;;) {
    const page = await registry.listSubscriptions(queue, {
      limit: PAGE,
      ...(next !== undefined && { marker: next }),
    });
    const now = clock.now();
    const longer = [...taken, ...page.items.filter((item) => isPresent(item, now))];
    if (taken.length > 0 && (longer.length > MOST_LINES || !fits(longer))) break;
    taken = longer;
    next = page.marker;
    if (next === undefined) break;
  }
  return { items: taken, ...(next !== undefined && { marker: next }) };
}

/** `subscriptionId`: the subscription that has the line's subscriber. */
export type ImportResult =
  | { kind: 'imported'; subscription: Subscription }
  | { kind: 'replaced'; before: Subscription; after: Subscription }
  | { kind: 'unchanged'; current: Subscription }
  /** The subscriber exists with other content, and the caller did not allow to replace it. */
  | { kind: 'conflict'; subscriptionId: string };

/**
 * Imports one line, atomically and idempotently. A subscriber that exists with the same content stays unchanged; with other
 * content it is replaced if the caller wants that, and keeps its secret and its age.
 * @throws UnknownCredentialsError, ContendedError
 */
export async function importSubscription(
  context: SubscribeContext,
  request: SubscriptionRequest,
  wanted: { replace: boolean },
): Promise<ImportResult> {
  const { registry, clock } = context;
  const current = await registry.findBySubscriber(request.queue, request.subscriber);
  return isPresent(current, clock.now())
    ? importExisting(context, current, request, wanted)
    : importNew(context, request);
}

async function importNew(context: SubscribeContext, request: SubscriptionRequest): Promise<ImportResult> {
  const result = await subscribe(context, request);
  return result.kind === 'subscribed'
    ? { kind: 'imported', subscription: result.subscription }
    : { kind: 'conflict', subscriptionId: result.subscriptionId };
}

async function importExisting(
  context: SubscribeContext,
  current: Subscription,
  request: SubscriptionRequest,
  { replace }: { replace: boolean },
): Promise<ImportResult> {
  const { queue, id: subscriptionId } = current;
  if (
    contentKey(current) === contentKey({ ...request, options: unredacted(request.options, current.options) })
  )
    return { kind: 'unchanged', current };
  if (!replace) return { kind: 'conflict', subscriptionId };
  const result = await updateSubscription(context, { queue, subscriptionId }, contentChange(request));
  switch (result.kind) {
    case 'changed':
      return { kind: 'replaced', before: result.before, after: result.after };
    case 'left':
      return { kind: 'unchanged', current: result.current };
    case 'conflict':
    case 'missing':
      return { kind: 'conflict', subscriptionId };
  }
}

/** Equal for subscriptions with equal content; neither the time of disabling nor the spelling of the URL counts. */
function contentKey({ options, ttl, disabled }: SubscriptionRequest): string {
  return canonicalJson({ options, ttl: ttl ?? null, disabled: disabled?.reason ?? null });
}

/** Sets all of the content, absent members too. The subscriber is the same, so it need not confirm again. */
function contentChange({ options, ttl, disabled }: SubscriptionRequest): SubscriptionChange {
  return {
    options,
    ttl: ttl ?? null,
    disabled: disabled ?? null,
  };
}
