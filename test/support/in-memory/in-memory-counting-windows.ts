import { type CountingWindow, sumOfCounts } from '../../../shared/domain/subscription/back-pressure.ts';
import type { CountingWindows } from '../../../shared/ports/pace.ts';

/** The windows of subscriptions in a Map, which several instances may share. */
export const inMemoryCountingWindows = (windows = new Map<string, CountingWindow>()): CountingWindows => ({
  find: ({ queue, subscriptionId }) => Promise.resolve(windows.get(`${queue}#${subscriptionId}`)),
  add: ({ queue, subscriptionId }, version, counts) => {
    const key = `${queue}#${subscriptionId}`;
    const found = windows.get(key);
    if (found === undefined || found.version < version) windows.set(key, { ...counts, version, writes: 1 });
    else if (found.version === version)
      windows.set(key, { ...sumOfCounts(found, counts), version, writes: found.writes + 1 });
    return Promise.resolve();
  },
});
