import { listDeliveries } from '../../../../cli/api/deliveries.ts';
import { listSubscriptions } from '../../../../cli/api/subscriptions.ts';
import { firstOf } from '../../api/listed.ts';
import type { PageClient } from '../../api/page-client.ts';
import { readStatistics, type WindowName } from '../../statistics/read-statistics.ts';
import type { QueueReading } from './queue-figures.ts';

/** One page of the API. */
const MOST = 99;

/** Three requests, whose cost does not depend on the number of messages. */
export async function readQueue(
  api: PageClient,
  queue: string,
  { window, now, signal }: { window: WindowName; now: number; signal: AbortSignal },
): Promise<QueueReading> {
  const [subscriptions, statistics, retrying] = await Promise.all([
    firstOf(listSubscriptions(api, queue, MOST + 1), MOST),
    readStatistics(api, queue, { window, now, signal }),
    firstOf(listDeliveries(api, queue, { status: 'retrying' }, { most: MOST + 1, signal }), MOST),
  ]);
  return { at: now, subscriptions, statistics, retrying };
}
