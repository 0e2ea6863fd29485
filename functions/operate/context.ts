import type { DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import { errorOf } from '../../shared/domain/errors.ts';
import type { Operation } from '../../shared/domain/recovery/operation.ts';
import type { DeliveryListings, Recoveries } from '../../shared/ports/deliveries.ts';
import type { Operations } from '../../shared/ports/queues.ts';
import type { Registry } from '../../shared/ports/subscriptions.ts';
import type { ByHandContext } from '../../shared/steps/by-hand.ts';

export type OperateContext = {
  ports: ByHandContext['ports'] & {
    recoveries: Pick<Recoveries, 'find' | 'save'>;
    deliveryListings: Pick<DeliveryListings, 'oldest' | 'records'>;
    operations: Operations;
    registry: Pick<Registry, 'removeMarked'>;
  };
  settings: ByHandContext['settings'];
};

/** Deliveries worked on at once: what they all send to, the retry queue, is worked off side by side as well. */
export const SIDE_BY_SIDE = 10;

/** What is left of the invocation, in milliseconds. */
export type Remaining = () => number;

/** What has to be left for another page to be read and ten deliveries to be dealt with, each of them at the SDK's slowest. */
export const PAGE_MS = 20_000;

/** What was thrown at one item, while the others were gone on with. */
type Failed<Item> = { item: Item; error: unknown };

type Worked<Item, Result> = {
  results: readonly Result[];
  failed: readonly Failed<Item>[];
  rest: readonly Item[];
};

/**
 * Works on the items, ten at once, until there are no more or the time is up. One that fails keeps none of the others back:
 * where a service is away for all of them, whatever follows a page fails as well and has the message come again.
 */
export async function worked<Item, Result>(
  items: readonly Item[],
  remaining: Remaining,
  work: (item: Item) => Promise<Result>,
): Promise<Worked<Item, Result>> {
  const results: Result[] = [];
  const failed: Failed<Item>[] = [];
  for (let start = 0; start < items.length; start += SIDE_BY_SIDE) {
    if (remaining() < PAGE_MS) return { results, failed, rest: items.slice(start) };
    const group = items.slice(start, start + SIDE_BY_SIDE);
    await Promise.all(
      group.map(async (item) => {
        try {
          results.push(await work(item));
        } catch (error) {
          failed.push({ item, error });
        }
      }),
    );
  }
  return { results, failed, rest: [] };
}

/** Says which delivery an order could not be carried out for. */
export function noteFailed(
  { ports }: OperateContext,
  operation: Operation['kind'],
  key: DeliveryKey,
  error: unknown,
): void {
  ports.journal.note({ fact: 'operation_failed_for', operation, key, error: errorOf(error) });
}

/** The rest of an order, in a message of its own, so that it does not count as a failed receive. */
export async function goOnLater(
  { ports }: OperateContext,
  operation: Operation,
  delaySeconds: number,
): Promise<void> {
  await ports.operations.send(operation, delaySeconds);
  const { kind, queue } = operation;
  ports.journal.note({ fact: 'operation_continued', operation: kind, queue, delaySeconds });
}
