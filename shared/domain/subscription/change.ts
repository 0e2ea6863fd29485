import { findPressureReason } from './back-pressure.ts';
import { timeOfNewEpoch } from './rate-limit.ts';
import { type Destination, destinationIdentity, movedTo } from './destination.ts';
import type { Subscription } from './subscription.ts';

/** An enabled subscription without failure history; attempts in flight no longer affect its health. */
export function asEnabled(subscription: Subscription, now: number): Subscription {
  const fresh = withoutHistory(subscription, now);
  delete fresh.disabled;
  return fresh;
}

/**
 * A subscription with another destination. If the address changes, its failure history is dropped and its pressure
 * ends, because they belong to the old address.
 */
export function moveTo(destination: Destination, current: Subscription, now: number): Subscription {
  const moved = { ...current, destination: movedTo(destination, current.destination) };
  return hasMoved(current, moved) ? withoutHistory(moved, now) : moved;
}

export function hasMoved(before: Subscription, after: Subscription): boolean {
  return destinationIdentity(before.destination) !== destinationIdentity(after.destination);
}

/** Whether deliveries that wait under back-pressure need not wait after the change. */
export function endsPressure(before: Subscription, after: Subscription): boolean {
  const { pressure } = before;
  return (
    pressure !== undefined && findPressureReason(pressure) !== undefined && after.pressure?.at !== pressure.at
  );
}

/** Identified by `version`. Slots of the line so far become invalid. */
function withoutHistory(subscription: Subscription, now: number): Subscription {
  const version = timeOfNewEpoch(subscription, now);
  const { pressure, ...fresh } = { ...subscription, version };
  delete fresh.failing;
  const reason = pressure && findPressureReason(pressure);
  if (pressure === undefined || reason === undefined) return fresh;
  return { ...fresh, pressure: { state: 'ending', reason, at: version, since: pressure.since } };
}
