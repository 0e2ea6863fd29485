import { SECOND } from '../scenario.ts';
import type { PlannedSubscription } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Finding } from './delivery-case.ts';

const WINDOW_MS = 10 * SECOND;

/** What lies between an attempt's start and its arrival, at most: a call's way. */
const ON_THE_WAY_MS = 50;

/** A twentieth more than `max_per_second` says; one request in ten seconds is always allowed. */
const mostIn = (windowMs: number, maxPerSecond: number): number =>
  Math.max(1, Math.floor((1.05 * maxPerSecond * windowMs) / SECOND));

/** In no ten seconds does a subscriber get more requests than its subscription allows, whoever makes them. */
export const ratesAreKept = (world: SimulatedWorld): Finding[] =>
  world.scenario.subscriptions.flatMap((subscription) =>
    subscription.maxPerSecond === undefined || beginsAnew(world, subscription)
      ? []
      : tooMany(world, subscription, subscription.maxPerSecond),
  );

/** A subscription that became another one stands in another line. */
const beginsAnew = ({ scenario }: SimulatedWorld, { id }: PlannedSubscription): boolean =>
  scenario.changes.some(
    (change) =>
      (change.kind === 'subscription_url' || change.kind === 'subscription_enabled') && change.id === id,
  );

const tooMany = (world: SimulatedWorld, { id }: PlannedSubscription, maxPerSecond: number): Finding[] => {
  const times = world.history.requests
    .filter(({ delivery }) => delivery.endsWith(`/${id}`))
    .map(({ at }) => at)
    .sort((one, other) => one - other);
  // Clocks that differ make slots that were apart come together.
  const windowMs = WINDOW_MS + 2 * world.scenario.skewMs + ON_THE_WAY_MS;
  const most =
    world.scenario.skewMs === 0 ? mostIn(WINDOW_MS, maxPerSecond) : 1 + mostIn(windowMs, maxPerSecond);
  return times.flatMap((from, index) => {
    const found = times.slice(index).filter((at) => at < from + WINDOW_MS).length;
    if (found <= most) return [];
    const detail = `${found} requests in the ten seconds from ${from}, at ${maxPerSecond} a second`;
    return [{ kind: 'violation' as const, invariant: 'rates_are_kept', subject: id, detail }];
  });
};
