import { isOpenStatus } from '../shared/domain/delivery/vocabulary.ts';
import { WAITS } from '../shared/wire/views/delivery.ts';
import type { ApiClient } from './api-client.ts';
import { listDeliveries } from './operations.ts';
import { counted } from './words.ts';

/** One page. Ended deliveries are among those that it counts from. */
const MAX_READ = 100;

/**
 * How many deliveries to a subscription wait and why, such as `3 deliveries: 2 because the subscriber throttles, 1 for
 * the next attempt`. Undefined: none among its newest undelivered ones.
 */
export async function waitingText(
  api: ApiClient,
  queue: string,
  subscription: string,
  signal?: AbortSignal,
): Promise<string | undefined> {
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
