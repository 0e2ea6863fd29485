import { subscriberIdentity } from './subscriber-url.ts';
import type { Subscription } from './subscription.ts';

/** Whatever it was disabled for, and whatever it failed before: it starts anew. What is under way to it says nothing of it. */
export function asEnabled(subscription: Subscription, now: number): Subscription {
  const fresh = withoutHistory(subscription, now);
  delete fresh.disabled;
  return fresh;
}

/** What failed there, or fails there yet, says nothing of the new one. */
export function moveTo(subscriber: string, current: Subscription, now: number): Subscription {
  const moved = { ...current, subscriber };
  return hasMoved(current, moved) ? withoutHistory(moved, now) : moved;
}

/** Whether another host may be there now: scheme, host or port differ. What was given for the one is not for the other. */
export function hasNewOrigin(before: Subscription, subscriber: string): boolean {
  return URL.parse(before.subscriber)?.origin !== URL.parse(subscriber)?.origin;
}

export function hasMoved(before: Subscription, after: Subscription): boolean {
  return subscriberIdentity(before.subscriber) !== subscriberIdentity(after.subscriber);
}

/** Later than the change before, whatever the clocks say: two changes are told apart by it. */
function withoutHistory(subscription: Subscription, now: number): Subscription {
  const fresh = { ...subscription, changedAt: Math.max(now, (subscription.changedAt ?? 0) + 1) };
  delete fresh.failing;
  return fresh;
}
