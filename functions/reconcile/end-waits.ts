import { hashToBucket } from '../../shared/domain/delivery/fan-out.ts';
import { cancelWaiting, longestWaitMs } from '../../shared/domain/delivery/pull.ts';
import { MINUTE_MS } from '../../shared/domain/duration.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Deliveries } from '../../shared/ports/deliveries.ts';
import type { Journal } from '../../shared/ports/journal.ts';
import type { PullSubscription, PullSubscriptions } from '../../shared/ports/subscriptions.ts';

export type EndWaitsContext = {
  ports: {
    clock: Pick<Clock, 'now'>;
    deliveries: Pick<Deliveries, 'waiting' | 'write'>;
    pullSubscriptions: PullSubscriptions;
    journal: Journal;
  };
  settings: { retentionMs: number };
};

/** Deliveries cancelled together, and the time that they may take, in milliseconds. */
const PAGE = 25;
const PAGE_MS = 10_000;

/** A wait ends after days, so each run looks at a part of the subscriptions, and at each once an hour. */
const PARTS = 60;

/**
 * Cancels deliveries that waited too long for their subscriber, or whose subscription has expired, before their records
 * are deleted: a delivery must not end without a trace. Stops when the time is up; the next hour continues.
 */
export async function endLongWaits(context: EndWaitsContext, remainingMs: () => number): Promise<void> {
  const { clock, pullSubscriptions } = context.ports;
  const part = Math.floor(clock.now() / MINUTE_MS) % PARTS;
  let page = await pullSubscriptions.after();
  while (page.length > 0) {
    for (const subscription of page.filter((one) => hashToBucket(one.subscriptionId, PARTS) === part))
      if (!(await endSubscriptionWaits(context, subscription, remainingMs))) return;
    page = await pullSubscriptions.after(page.at(-1));
  }
}

/** False: the time is up. */
async function endSubscriptionWaits(
  { ports, settings }: EndWaitsContext,
  subscription: PullSubscription,
  remainingMs: () => number,
): Promise<boolean> {
  const { clock, deliveries, journal } = ports;
  const { expiresAt = Infinity } = subscription;
  while (remainingMs() >= PAGE_MS) {
    const at = { now: clock.now() };
    const isExpired = expiresAt <= at.now;
    const reason = isExpired ? 'subscription_expired' : 'not_received';
    const before = isExpired ? Number.MAX_SAFE_INTEGER : at.now - longestWaitMs(settings.retentionMs);
    const found = await deliveries.waiting(subscription, before, PAGE);
    const results = await Promise.all(found.map((one) => deliveries.write(cancelWaiting(one, reason, at))));
    const ended = results.flatMap((result) => (result.kind === 'written' ? [result.delivery] : []));
    for (const { key } of ended) journal.note({ fact: 'delivery_cancelled', key, reason });
    // The index is behind: those that it still shows were cancelled or received.
    if (found.length < PAGE || ended.length === 0) return true;
  }
  return false;
}
