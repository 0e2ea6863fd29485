import type { Operation } from '../domain/operation.ts';
import type { DeliveryListings } from '../ports/delivery-listings.ts';
import type { Operations } from '../ports/operations.ts';
import type { Recoveries } from '../ports/recoveries.ts';
import type { SubscriptionRegistry } from '../ports/subscription-registry.ts';
import type { ByHandContext } from './by-hand.ts';

export type OperateContext = {
  ports: ByHandContext['ports'] & {
    recoveries: Pick<Recoveries, 'find' | 'save'>;
    deliveryListings: Pick<DeliveryListings, 'oldest' | 'records'>;
    operations: Operations;
    registry: Pick<SubscriptionRegistry, 'removeMarked'>;
  };
  settings: ByHandContext['settings'];
};

/** Deliveries worked on at once: what they all send to, the retry queue, is worked off side by side as well. */
export const SIDE_BY_SIDE = 10;

/** What is left of the invocation, in milliseconds. */
export type Remaining = () => number;

/** What has to be left for another page to be read and ten deliveries to be dealt with, each of them at the SDK's slowest. */
export const PAGE_MS = 20_000;

/**
 * Works on the items, ten at once, until there are no more or the time is up. All that were begun are finished, whatever
 * becomes of one.
 * @throws AggregateError when some failed
 */
export const worked = async <Item, Result>(
  items: readonly Item[],
  remaining: Remaining,
  work: (item: Item) => Promise<Result>,
): Promise<{ results: readonly Result[]; rest: readonly Item[] }> => {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += SIDE_BY_SIDE) {
    if (remaining() < PAGE_MS) return { results, rest: items.slice(start) };
    const group = await Promise.allSettled(items.slice(start, start + SIDE_BY_SIDE).map(work));
    const failures = group.filter((one) => one.status === 'rejected').map(({ reason }): unknown => reason);
    if (failures.length > 0)
      throw new AggregateError(failures, `${failures.length} deliveries could not be worked on`);
    results.push(...group.filter((one) => one.status === 'fulfilled').map(({ value }) => value));
  }
  return { results, rest: [] };
};

/** The rest of an order, in a message of its own, so that it does not count as a failed receive. */
export const goOnLater = async (
  { ports }: OperateContext,
  operation: Operation,
  delaySeconds: number,
): Promise<void> => {
  await ports.operations.send(operation, delaySeconds);
  const { kind, queue } = operation;
  ports.journal.note({ fact: 'operation_continued', operation: kind, queue, delaySeconds });
};
