import { ANY_INVOCATION_MS } from '../../../shared/domain/delivery/lease.ts';
import { SECOND } from '../scenario.ts';
import type { PlannedSubscription } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Finding } from './delivery-case.ts';
import { validBetween } from './policy.ts';

const WINDOW_MS = 10 * SECOND;

/** What an attempt went by was read so long before its request, at most. */
const READ_BEFORE_MS = ANY_INVOCATION_MS;

/** What lies between an attempt's start and its arrival, at most: a call's way. */
const ON_THE_WAY_MS = 50;

/** A twentieth more than `max_per_second` says; one request in ten seconds is always allowed. */
const mostIn = (windowMs: number, maxPerSecond: number): number =>
  Math.max(1, Math.floor((1.05 * maxPerSecond * windowMs) / SECOND));

/** In no ten seconds does a subscriber get more requests than its subscription allows, whoever makes them. */
export const ratesAreKept = (world: SimulatedWorld): Finding[] =>
  world.scenario.subscriptions.flatMap((subscription) =>
    beginsAnew(world, subscription) ? [] : tooMany(world, subscription),
  );

/** A subscription that became another one stands in another line. */
const beginsAnew = ({ scenario }: SimulatedWorld, { id }: PlannedSubscription): boolean =>
  scenario.changes.some(
    (change) =>
      (change.kind === 'subscription_url' || change.kind === 'subscription_enabled') && change.id === id,
  );

const tooMany = (world: SimulatedWorld, { id }: PlannedSubscription): Finding[] => {
  const { scenario, history, subscriptions } = world;
  const versions = subscriptions.versionsOf(id);
  if (versions.every(({ value }) => value?.options.max_per_second === undefined)) return [];
  const times = history.requests
    .filter(({ delivery }) => delivery.endsWith(`/${id}`))
    .map(({ at }) => at)
    .sort((one, other) => one - other);
  return times.flatMap((from, index) => {
    const found = times.slice(index).filter((at) => at < from + WINDOW_MS).length;
    const limits = new Set(
      validBetween(versions, from - READ_BEFORE_MS, from + WINDOW_MS).map(
        (version) => version?.options.max_per_second ?? Infinity,
      ),
    );
    const most = mostOf(Math.max(...limits), limits.size, scenario.skewMs);
    if (found <= most) return [];
    const detail = `${found} requests in the ten seconds from ${from}, at ${[...limits].join()} a second`;
    return [{ kind: 'violation' as const, invariant: 'rates_are_kept', subject: id, detail }];
  });
};

/** Each limit has a line of its own. Clocks that differ make slots that were apart come together. */
const mostOf = (maxPerSecond: number, lines: number, skewMs: number): number => {
  if (maxPerSecond === Infinity) return Infinity;
  if (skewMs === 0 && lines === 1) return mostIn(WINDOW_MS, maxPerSecond);
  return lines + mostIn(WINDOW_MS + 2 * skewMs + ON_THE_WAY_MS, maxPerSecond);
};
