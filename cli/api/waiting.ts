import { isOpen } from '../../shared/domain/delivery/delivery.ts';
import type { Waiting } from '../../shared/wire/views/delivery.ts';
import type { ApiClient } from './api-request.ts';
import { counted } from './counted.ts';
import { listDeliveries } from './deliveries.ts';
import { itemsOf } from './listing.ts';

/** One page. Ended deliveries are among those that it counts from. */
const MOST_READ = 100;

/** Why deliveries wait, in the order of the text. */
const REASONS: readonly (readonly [reason: Waiting | undefined, text: string])[] = [
  ['circuit_open', 'because the subscriber is or was down'],
  ['receiver_throttled', 'because the subscriber throttles'],
  ['rate_limited', 'for the rate limit'],
  ['pull', 'until received'],
  [undefined, 'for the next attempt'],
];

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
  const newest = listDeliveries(api, queue, { subscription }, { most: MOST_READ, signal });
  const { items, more } = await itemsOf(newest);
  const open = items.filter(({ status }) => isOpen(status));
  if (open.length === 0) return undefined;
  const parts = REASONS.flatMap(([reason, text]) => {
    const count = open.filter(({ waiting }) => waiting === reason).length;
    return count === 0 ? [] : [`${count} ${text}`];
  });
  return `${more ? 'at least ' : ''}${counted(open.length, 'delivery', 'deliveries')}: ${parts.join(', ')}`;
}
