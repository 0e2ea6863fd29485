import { booksPages } from '../../../../cli/api/books.ts';
import { listDeliveries } from '../../../../cli/api/deliveries.ts';
import { listSubscriptions } from '../../../../cli/api/subscriptions.ts';
import { EMPTY_BOOKS, type Books, sumOfBooks } from '../../../../shared/domain/message/books.ts';
import type { PageClient } from '../../api/page-client.ts';
import { firstOf } from '../../api/listed.ts';
import type { QueueReading } from './queue-figures.ts';

/** Short, because the API counts every message in the window. */
export const WINDOW_MS = 5 * 60_000;

/** One page of the API. */
const MOST = 99;

export async function readQueue(
  api: PageClient,
  queue: string,
  { now, signal }: { now: number; signal: AbortSignal },
): Promise<QueueReading> {
  const window = { since: new Date(now - WINDOW_MS).toISOString(), until: new Date(now).toISOString() };
  const [subscriptions, books, retrying] = await Promise.all([
    firstOf(listSubscriptions(api, queue, MOST + 1), MOST),
    sumOf(booksPages(api, queue, window, signal)),
    firstOf(listDeliveries(api, queue, { status: 'retrying' }, { most: MOST + 1, signal }), MOST),
  ]);
  return { at: now, windowMs: WINDOW_MS, subscriptions, books, retrying };
}

async function sumOf(pages: AsyncIterable<Books>): Promise<Books> {
  let sum = EMPTY_BOOKS;
  for await (const page of pages) sum = sumOfBooks(sum, page);
  return sum;
}
