import { MAX_INVOCATION_MS } from '../../../shared/domain/retry/attempt-duration.ts';
import { SECOND, type PlannedSubscription } from '../scenario.ts';
import type { SimulatedWorld } from '../simulated-world.ts';
import type { Finding } from './delivery-case.ts';
import { validBetween } from './policy.ts';

const WINDOW_MS = 10 * SECOND;

/** Maximum time between reading the subscription and the request. */
const READ_BEFORE_MS = MAX_INVOCATION_MS;

/** Maximum time between an attempt's start and its arrival. */
const ON_THE_WAY_MS = 50;

/** 5 % above `max_per_second`; one request in ten seconds is always allowed. */
const maxRequestsIn = (windowMs: number, maxPerSecond: number): number =>
  Math.max(1, Math.floor((1.05 * maxPerSecond * windowMs) / SECOND));

/** No subscriber receives more requests in ten seconds than its subscription allows. */
export const ratesAreKept = (world: SimulatedWorld): Finding[] =>
  world.scenario.subscriptions.flatMap((subscription) =>
    startsNewLine(world, subscription) ? [] : rateViolations(world, subscription),
  );

/** A subscription with a new URL, or enabled again, starts a new line. */
const startsNewLine = ({ scenario }: SimulatedWorld, { id }: PlannedSubscription): boolean =>
  scenario.changes.some(
    (change) =>
      (change.kind === 'subscription_url' || change.kind === 'subscription_enabled') && change.id === id,
  );

const rateViolations = (world: SimulatedWorld, { id }: PlannedSubscription): Finding[] => {
  const { scenario, history, subscriptions } = world;
  const versions = subscriptions.versionsOf(id);
  if (versions.every(({ value }) => value?.options.max_per_second === undefined)) return [];
  const times = history.requests
    .filter(({ delivery }) => delivery.endsWith(`/${id}`))
    .map(({ at }) => at)
    .sort((one, other) => one - other);
  return times.flatMap((from, index) => {
    const found = times.slice(index).filter((at) => at < from + WINDOW_MS).length;
    const known = validBetween(versions, from - READ_BEFORE_MS, from + WINDOW_MS);
    const limits = new Set(known.map((version) => version?.options.max_per_second ?? Infinity));
    const pressures = new Set(
      known.flatMap((version) => (version?.pressure === undefined ? [] : version.pressure.at)),
    );
    const most = maxAllowed(Math.max(...limits), limits.size + pressures.size, scenario.skewMs);
    if (found <= most) return [];
    const detail = `${found} requests in the ten seconds from ${from}, at ${[...limits].join()} a second`;
    return [{ kind: 'violation' as const, invariant: 'rates_are_kept', subject: id, detail }];
  });
};

/** Each limit and each pressure has a separate line. Clock differences can bring slots together. */
const maxAllowed = (maxPerSecond: number, lines: number, skewMs: number): number => {
  if (maxPerSecond === Infinity) return Infinity;
  if (skewMs === 0 && lines === 1) return maxRequestsIn(WINDOW_MS, maxPerSecond);
  return lines + maxRequestsIn(WINDOW_MS + 2 * skewMs + ON_THE_WAY_MS, maxPerSecond);
};
