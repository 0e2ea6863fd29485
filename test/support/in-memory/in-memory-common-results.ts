import { type DeliveryResult, latestOf } from '../../../shared/domain/subscription/recent-results.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { CommonResults } from '../../../shared/ports/pace.ts';

export type StoredResults = Map<string, { version: number; latest: readonly DeliveryResult[] }>;

/** The latest results in a Map, which several instances may share. */
export const inMemoryCommonResults = (
  clock: Pick<Clock, 'now'>,
  stored: StoredResults = new Map(),
): CommonResults => ({
  add: ({ queue, subscriptionId }, version, results, rules) => {
    const key = `${queue}#${subscriptionId}`;
    const before = stored.get(key) ?? { version, latest: [] };
    if (before.version > version) return Promise.resolve([]);
    const same = before.version === version ? before.latest : [];
    const latest = latestOf([...same, ...results], clock.now(), rules);
    stored.set(key, { version, latest });
    return Promise.resolve(latest);
  },
});
