import { isOpenStatus } from '../shared/domain/delivery/vocabulary.ts';
import { WAITS } from '../shared/wire/views/delivery.ts';
import type { ApiClient } from './api-client.ts';
import { countWaitingOfSubscription, listDeliveries, type WaitingCount } from './operations.ts';
import { counted, type PauseView } from './words.ts';

/** One page. Ended deliveries are among those that it counts from. */
const MAX_READ = 100;

/** An RFC 3339 time as the reader sees times. */
type FormatTime = (time: string) => string;

/**
 * How many deliveries to a subscription wait and why, such as `3 deliveries: 2 because the subscriber throttles, 1 for
 * the next attempt`. Undefined: none among its newest undelivered ones. During a pause all that wait for its end.
 */
export async function waitingText(
  api: ApiClient,
  { queue, subscription }: { queue: string; subscription: string },
  { paused, formatTime }: { paused: PauseView | undefined; formatTime: FormatTime },
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (paused !== undefined) {
    const path = { queue, subscription };
    return waitingCountText(await api.call(countWaitingOfSubscription, { path, signal }), formatTime);
  }
  const { items, more } = await api.items(listDeliveries, {
    path: { queue },
    query: { subscription },
    most: MAX_READ,
    signal,
  });
  const open = items.filter(({ status }) => isOpenStatus(status));
  if (open.length === 0) return undefined;
  const reasons = Map.groupBy(open, ({ waiting }) => (waiting ? WAITS[waiting] : 'for the next attempt'));
  const parts = [...reasons].map(([reason, { length }]) => `${length} ${reason}`);
  return `${more ? 'at least ' : ''}${counted(open.length, 'delivery', 'deliveries')}: ${parts.join(', ')}`;
}

/** Such as `10,000+ deliveries, the oldest accepted at 14:00`. */
export function waitingCountText(
  { count, more, oldest_accepted_at: oldest }: WaitingCount,
  formatTime: FormatTime,
): string {
  const text = more ? `${count.toLocaleString('en')}+ deliveries` : counted(count, 'delivery', 'deliveries');
  return oldest === undefined ? text : `${text}, the oldest accepted at ${formatTime(oldest)}`;
}
