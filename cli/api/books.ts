import type { Books } from '../../shared/domain/message/books.ts';
import { booksViewSchema } from '../../shared/wire/views/books.ts';
import { type ApiClient, apiPath } from './api-request.ts';
import { linksSchema, markerIn } from './listing.ts';

const pageSchema = booksViewSchema.extend({ links: linksSchema });

/** What the figures count, in the words of the command and the console. */
export const BOOKS_MEANINGS: Readonly<Record<keyof Books, string>> = {
  accepted: 'messages accepted',
  duplicates: 'copies of these messages, dropped',
  unmatched: 'messages that matched no subscription',
  unfinished: 'messages not sent to all subscriptions yet',
  filtered: 'deliveries that a filter prevented',
  matched: 'deliveries to make, one per message and matching subscription',
  delivered: 'accepted by the subscriber',
  rejected: 'refused by the subscriber, and not retried',
  exhausted: 'failed after all retries',
  cancelled: 'cancelled manually, or because they could not be sent any more',
  pending: 'recorded and not ended yet',
};

/** RFC 3339. */
export type BooksWindow = { since: string; until: string; deleted?: boolean; subscription?: string };

/** `countedUntil`: the acceptance time that the pages so far have reached, unless they are all. RFC 3339. */
export type BooksPage = Books & { countedUntil?: string };

/** The reconciliation counts of a window, page by page. Each page has separate sums, to be added up. */
export const booksPages = async function* (
  api: ApiClient,
  queue: string,
  window: BooksWindow,
  signal: AbortSignal,
): AsyncGenerator<BooksPage> {
  let marker: string | undefined;
  do {
    const request = {
      path: apiPath`/v2/queues/${queue}/books`,
      query: {
        since: window.since,
        until: window.until,
        subscription: window.subscription,
        deleted: window.deleted === true ? 'true' : undefined,
        marker,
      },
      signal,
    };
    const { books, countedUntil, links } = await api.call({ method: 'GET', ...request }, pageSchema);
    yield { ...books, ...(countedUntil !== undefined && { countedUntil }) };
    marker = markerIn(links);
  } while (marker !== undefined);
};
