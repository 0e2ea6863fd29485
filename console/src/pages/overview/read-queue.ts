import type { ApiClient, Listed } from '../../../../api-client/api-client.ts';
import { listDeliveries, type ListedDelivery, listSubscriptions } from '../../../../api-client/operations.ts';
import {
  readStatistics,
  WINDOWS,
  type Statistics,
  type WindowName,
} from '../../statistics/read-statistics.ts';
import { failedIn } from '../../statistics/series.ts';
import type { QueueReading } from './queue-figures.ts';

/** One page of the API. */
const MOST = 100;

/** Three to five requests, whose cost does not depend on the number of messages. */
export async function readQueue(
  api: ApiClient,
  queue: string,
  { window, now, signal }: { window: WindowName; now: number; signal: AbortSignal },
): Promise<QueueReading> {
  const listed = (status: string): Promise<Listed<ListedDelivery>> =>
    api.items(listDeliveries, { path: { queue }, query: { status }, most: MOST, signal });
  const [subscriptions, statistics, retrying] = await Promise.all([
    api.items(listSubscriptions, { path: { queue }, most: MOST }),
    readStatistics(api, queue, { window, now, signal }),
    listed('retrying'),
  ]);
  const failed = mayHaveFailed(statistics)
    ? await Promise.all([listed('rejected'), listed('exhausted')])
    : [];
  const undelivered = {
    items: failed.flatMap(({ items }) => items),
    more: failed.some(({ more }) => more),
  };
  const since = now - WINDOWS[window].lengthMs;
  return { since, at: now, subscriptions, statistics, retrying, undelivered };
}

/** Where nothing is counted, only the lists can tell. */
function mayHaveFailed(statistics: Statistics | null): boolean {
  return statistics === null || failedIn(statistics.total) > 0;
}
