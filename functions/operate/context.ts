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
    registry: Pick<Registry, 'removeDeletedQueue' | 'removeMarked'>;
  };
  settings: ByHandContext['settings'];
};

/** Deliveries worked on at once: deliver consumes the retry queue, to which they all send, side by side as well. */
export const SIDE_BY_SIDE = 10;

/** What is left of the invocation, in milliseconds. */
export type TimeLeft = () => number;

/** What has to be left for another page to be read and ten deliveries to be dealt with, each of them at the SDK's slowest. */
export const PAGE_MS = 20_000;

/** An item whose work threw; the others went on. */
type Failed<Item> = { item: Item; error: unknown };

type Worked<Item, Result> = {
  results: readonly Result[];
  failed: readonly Failed<Item>[];
  rest: readonly Item[];
};

/**
 * Works on the items, ten at once, until there are no more or the time is up. A failure holds up no other item: where a
 * service is down for all of them, the calls after the page fail as well, and the message comes again.
 */
export async function workThrough<Item, Result>(
  items: readonly Item[],
  remaining: TimeLeft,
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

/** Carries out an order page by page while there is time. `page` answers what is left of it; undefined: nothing is. */
export async function pageByPage<Order extends Operation>(
  context: OperateContext,
  order: Order,
  remaining: TimeLeft,
  page: (order: Order) => Promise<Order | undefined>,
): Promise<void> {
  let rest: Order | undefined = order;
  while (rest !== undefined) {
    if (remaining() < PAGE_MS) {
      await continueLater(context, rest, 0);
      return;
    }
    rest = await page(rest);
  }
}

/** Notes the delivery for which an order could not be carried out. */
export function noteFailed(
  { ports }: OperateContext,
  operation: Operation['kind'],
  key: DeliveryKey,
  error: unknown,
): void {
  ports.journal.note({ fact: 'operation_failed_for', operation, key, error: errorOf(error) });
}

/** Sends the rest of an order in a new message, so that it does not count as a failed receive. */
export async function continueLater(
  { ports }: OperateContext,
  operation: Operation,
  delaySeconds: number,
): Promise<void> {
  await ports.operations.send(operation, delaySeconds);
  const { kind, queue } = operation;
  ports.journal.note({ fact: 'operation_continued', operation: kind, queue, delaySeconds });
}
