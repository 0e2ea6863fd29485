import { isOpen } from '../../../shared/domain/delivery/delivery.ts';
import { pollInterval } from '../../../shared/domain/retry/poll-interval.ts';
import type { DeliveryView } from '../../../shared/wire/views/delivery.ts';
import type { ApiClient } from '../../api/api-request.ts';
import { showMessage } from '../../api/messages.ts';
import { ApiRefusal } from '../../api/api-refusal.ts';
import {
  deliveriesOfMessage,
  listDeliveries,
  showDelivery,
  type DeliveryFilter,
  type ListedDelivery,
} from '../../api/deliveries.ts';
import type { Sleep } from '../../terminal.ts';

/** A delivery as it was seen. `at`: when; `last`: what the last attempt's answer was. */
export type Change = {
  at: string;
  queue: string;
  messageId: string;
  subscriptionId: string;
  status: DeliveryView['status'];
  reason?: string;
  attemptCount: number;
  last?: string;
  nextAttemptAt?: string;
};

export type WatchOrder = {
  queue: string;
  message?: string;
  filter: DeliveryFilter;
  /** Ends it; not an error. */
  signal: AbortSignal;
  sleep: Sleep;
  onChange: (change: Change) => void;
};

/** Of a queue. */
const NEWEST = 100;
/** Open ones that have left the newest, looked at one by one; those beyond are let go. */
const MOST_FOLLOWED = 50;
/** Seconds. */
const POLLING = { floor: 1, ceiling: 10 };

type Seen = Omit<Change, 'at'>;

/** Polls and tells each change once. With `message` it ends when all its deliveries are over. */
export async function watchDeliveries(api: ApiClient, order: WatchOrder): Promise<void> {
  const { signal, sleep } = order;
  const known = new Map<string, Seen>();
  let interval = pollInterval(POLLING);
  try {
    while (!signal.aborted) {
      const found = await look(api, order, known);
      const changes = tellChanges(found, known, order);
      if (await isAllOver(api, order, found)) return;
      interval = changes > 0 ? interval.afterMessage() : interval.afterEmpty();
      await sleep(interval.wait * 1000, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function look(api: ApiClient, order: WatchOrder, known: ReadonlyMap<string, Seen>): Promise<Seen[]> {
  return order.message === undefined ? lookAtQueue(api, order, known) : lookAtMessage(api, order);
}

/** How many there were. */
function tellChanges(found: readonly Seen[], known: Map<string, Seen>, { onChange }: WatchOrder): number {
  const changes = found.filter((seen) => isChange(known.get(keyOf(seen)), seen));
  for (const seen of changes) {
    known.delete(keyOf(seen));
    known.set(keyOf(seen), seen);
    onChange({ at: new Date().toISOString(), ...seen });
  }
  forgetOldest(known);
  return changes.length;
}

/** A delivery is on record from its first attempt on, so that there may be fewer of them than subscriptions that matched. */
async function isAllOver(api: ApiClient, order: WatchOrder, found: readonly Seen[]): Promise<boolean> {
  if (order.message === undefined || found.length === 0) return false;
  if (found.some(({ status }) => isOpen(status))) return false;
  const { view } = await showMessage(api, order.queue, order.message);
  return view.unfinished !== true && found.length >= view.matched;
}

function keyOf({ messageId, subscriptionId }: Seen): string {
  return JSON.stringify([messageId, subscriptionId]);
}

function isChange(before: Seen | undefined, now: Seen): boolean {
  return before === undefined || JSON.stringify(before) !== JSON.stringify(now);
}

/** Twenty listings are enough to tell what is new; a watch that runs for weeks must not grow. */
function forgetOldest(known: Map<string, Seen>): void {
  for (const key of known.keys()) {
    if (known.size <= 20 * NEWEST) return;
    known.delete(key);
  }
}

/** Undefined as long as the message is not on record: it may just have been published. */
async function lookAtMessage(api: ApiClient, { queue, message = '', signal }: WatchOrder): Promise<Seen[]> {
  try {
    const found: Seen[] = [];
    const deliveries = deliveriesOfMessage(api, { queue, messageId: message }, { signal });
    for await (const delivery of deliveries) found.push(seenOfView(delivery));
    return found;
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 404) return [];
    throw error;
  }
}

async function lookAtQueue(
  api: ApiClient,
  { queue, filter, signal }: WatchOrder,
  known: ReadonlyMap<string, Seen>,
): Promise<Seen[]> {
  const newest: Seen[] = [];
  const listed = listDeliveries(api, queue, filter, { most: NEWEST, signal });
  for await (const delivery of listed) newest.push(seenOfListed(delivery));
  const keys = new Set(newest.map(keyOf));
  // A delivered one is in no listing of the queue; it has to be asked for.
  const gone = [...known.values()].filter((seen) => isOpen(seen.status) && !keys.has(keyOf(seen)));
  const followed = await Promise.all(gone.slice(-MOST_FOLLOWED).map((seen) => lookAt(api, seen, signal)));
  // The oldest first, so that lines stand in the order of things.
  return [...newest.toReversed(), ...followed];
}

async function lookAt(api: ApiClient, seen: Seen, signal: AbortSignal): Promise<Seen> {
  try {
    return seenOfView(await showDelivery(api, seen, signal));
  } catch (error) {
    // Its record is gone with its message.
    if (error instanceof ApiRefusal && error.status === 404)
      return { ...seen, status: 'cancelled', reason: 'gone' };
    throw error;
  }
}

function seenOfListed(delivery: ListedDelivery): Seen {
  const { queue, messageId, subscriptionId, status, reason, attemptCount, lastAttempt, nextAttemptAt } =
    delivery;
  const last = lastAttempt?.statusCode?.toString() ?? lastAttempt?.error;
  return {
    queue,
    messageId,
    subscriptionId,
    status,
    ...(reason !== undefined && { reason }),
    attemptCount,
    ...(last !== undefined && { last }),
    ...(nextAttemptAt !== undefined && { nextAttemptAt }),
  };
}

function seenOfView({ attempts, ...view }: DeliveryView): Seen {
  const lastAttempt = attempts.at(-1);
  return seenOfListed({
    ...view,
    acceptedAt: '',
    attemptCount: attempts.length,
    ...(lastAttempt && { lastAttempt }),
  });
}
