import type { DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import { MAX_DELAY_SECONDS } from '../../shared/domain/delivery/wake-up-plan.ts';
import { toError } from '../../shared/domain/errors.ts';
import type { Operation } from '../../shared/domain/recovery/operation.ts';
import type { Deliveries, DeliveryListings, Recoveries } from '../../shared/ports/deliveries.ts';
import type { OperatorEvents } from '../../shared/ports/journal.ts';
import type { Operations } from '../../shared/ports/queues.ts';
import type { Registry } from '../../shared/ports/subscriptions.ts';
import type { InterventionContext } from '../../shared/steps/retry-delivery.ts';

export type OperateContext = {
  ports: InterventionContext['ports'] & {
    deliveries: Pick<Deliveries, 'waiting'>;
    recoveries: Pick<Recoveries, 'find' | 'save' | 'keepPage'>;
    deliveryListings: Pick<DeliveryListings, 'oldest' | 'records'>;
    operations: Operations;
    registry: Pick<
      Registry,
      | 'removeDeletedQueue'
      | 'removeMarked'
      | 'completeRestoredQueue'
      | 'findQueue'
      | 'findSubscription'
      | 'listSubscriptions'
    >;
    operatorEvents: OperatorEvents;
  };
  settings: InterventionContext['settings'];
};

/** One operation in an invocation. */
export type OperationRun = OperateContext & {
  /** The time left in the invocation, in milliseconds. */
  remaining: () => number;
};

/** How many deliveries are processed concurrently. */
export const CONCURRENCY = 10;

/** Time needed to read a page and process ten deliveries when every SDK call is at its slowest, in milliseconds. */
export const PAGE_MS = 20_000;

/**
 * Processes the items, ten concurrently, until none or no time is left. A failed item is logged and does not stop the
 * others: if a service is down, the calls after the page fail too, and SQS redelivers the message.
 */
export async function processItems<Item extends { key: DeliveryKey }, Result>(
  run: OperationRun,
  operation: Operation['kind'],
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<{ results: Result[]; failed: Item[]; rest: readonly Item[] }> {
  const results: Result[] = [];
  const failed: Item[] = [];
  for (let start = 0; start < items.length; start += CONCURRENCY) {
    if (run.remaining() < PAGE_MS) return { results, failed, rest: items.slice(start) };
    const group = items.slice(start, start + CONCURRENCY);
    await Promise.all(
      group.map(async (item) => {
        try {
          results.push(await work(item));
        } catch (error) {
          noteFailed(run, operation, item.key, error);
          failed.push(item);
        }
      }),
    );
  }
  return { results, failed, rest: [] };
}

/** Processes an operation page by page while there is time. `page` returns the rest; undefined: nothing is left. */
export async function processPages<Kind extends Operation>(
  run: OperationRun,
  operation: Kind,
  page: (operation: Kind) => Promise<Kind | undefined>,
): Promise<void> {
  let rest: Kind | undefined = operation;
  while (rest !== undefined) {
    if (run.remaining() < PAGE_MS) return continueLater(run, rest, 0);
    rest = await page(rest);
  }
}

/** Logs a delivery for which an operation failed. */
export function noteFailed(
  { ports }: OperateContext,
  operation: Operation['kind'],
  key: DeliveryKey,
  error: unknown,
): void {
  ports.journal.note({ fact: 'operation_failed_for', operation, key, error: toError(error) });
}

/** How long the rest of an operation waits for a time, as far as one SQS delay allows; rounded up, so that it is not early. */
export function secondsUntil(time: number, now: number): number {
  return Math.min(MAX_DELAY_SECONDS, Math.max(0, Math.ceil((time - now) / 1000)));
}

/**
 * Sends the rest of an operation in a new message, so that it does not count as a failed receive. Nothing is left for this
 * one.
 */
export async function continueLater(
  { ports }: OperateContext,
  operation: Operation,
  delaySeconds: number,
): Promise<undefined> {
  await ports.operations.send(operation, delaySeconds);
  const { kind, queue } = operation;
  ports.journal.note({ fact: 'operation_continued', operation: kind, queue, delaySeconds });
}
