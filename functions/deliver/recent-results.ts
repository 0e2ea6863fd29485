import type { DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import type { Clock } from '../../shared/ports/clock.ts';

/** What one instance knows of a subscription's latest requests, at most one for each delivery. */
export type ResultCounts = { requests: number; failures: number };

/** The result of a request. `version`: of the pressure that it was sent under; undefined: none. */
type RequestResult = { isFailure: boolean; startedAt: number; version: number | undefined };

/** Latest results by subscription, in the memory of a function instance. */
export type RecentResults = {
  /** Adds a result and returns the counts for its version. */
  add(key: DeliveryKey, result: RequestResult, bounds: { windowMs: number; most: number }): ResultCounts;
};

/** Subscriptions with a recent failure that an instance remembers. The first ones are forgotten first. */
const MOST_SUBSCRIPTIONS = 10_000;

const NO_RESULTS: ResultCounts = { requests: 0, failures: 0 };

type Results = {
  version: number | undefined;
  /** Start of the first request under this version. */
  began: number;
  byDelivery: Map<string, { at: number; isFailure: boolean }>;
};

/**
 * A subscription without pressure is remembered from its first failure until its failures are older than the window,
 * so a healthy one costs nothing.
 */
export function recentResults(clock: Pick<Clock, 'now'>): RecentResults {
  const bySubscription = new Map<string, Results>();
  return {
    add: ({ queue, subscriptionId, messageId }, result, { windowMs, most }) => {
      const name = `${queue}/${subscriptionId}`;
      const results = resultsFor(bySubscription.get(name), result);
      if (results === undefined) return NO_RESULTS;
      const now = clock.now();
      setLast(results.byDelivery, messageId, { at: now, isFailure: result.isFailure });
      forgetFirst(results.byDelivery, ({ at }, size) => size > most || at <= now - windowMs);
      const counts = countsOf(results);
      setLast(bySubscription, name, results);
      if (counts.failures === 0 && result.version === undefined) bySubscription.delete(name);
      forgetFirst(bySubscription, (_, size) => size > MOST_SUBSCRIPTIONS);
      return counts;
    },
  };
}

/** Where a result belongs. Undefined: it says nothing, or is a late one of a request under an earlier version. */
function resultsFor(known: Results | undefined, result: RequestResult): Results | undefined {
  const { isFailure, startedAt, version } = result;
  const fresh: Results = { version, began: startedAt, byDelivery: new Map() };
  if (known === undefined) return isFailure || version !== undefined ? fresh : undefined;
  if (known.version === version) return known;
  return startedAt < known.began ? undefined : fresh;
}

function countsOf({ byDelivery }: Results): ResultCounts {
  const all = [...byDelivery.values()];
  return { requests: all.length, failures: all.filter(({ isFailure }) => isFailure).length };
}

/** A Map keeps the order of insertion. */
function setLast<Value>(map: Map<string, Value>, name: string, value: Value): void {
  map.delete(name);
  map.set(name, value);
}

function forgetFirst<Value>(
  map: Map<string, Value>,
  isToForget: (value: Value, size: number) => boolean,
): void {
  for (const [name, value] of map) {
    if (!isToForget(value, map.size)) return;
    map.delete(name);
  }
}
