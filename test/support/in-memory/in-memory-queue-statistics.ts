import { addTo, noCounters, type RunningCounters } from '../../../shared/domain/delivery/statistics.ts';
import type { QueueStatistics } from '../../../shared/ports/statistics.ts';

/** The counters of each queue and minute in a Map. */
export const inMemoryQueueStatistics = (): QueueStatistics => {
  const minutes = new Map<string, Map<number, RunningCounters>>();
  return {
    add: ({ queue, at, counters }) => {
      const ofQueue = minutes.get(queue) ?? new Map<number, RunningCounters>();
      const total = ofQueue.get(at) ?? noCounters();
      addTo(total, counters);
      minutes.set(queue, ofQueue.set(at, total));
      return Promise.resolve({ kind: 'added' });
    },
    minutes: async function* ({ queue, since, until }) {
      await Promise.resolve();
      const found = [...(minutes.get(queue) ?? [])].filter(([at]) => at >= since && at < until);
      for (const [at, counters] of found.sort(([one], [other]) => one - other))
        yield { at, counters: structuredClone(counters) };
    },
  };
};
