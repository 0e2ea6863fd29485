import { addUp, booksOfMessage, EMPTY_BOOKS, type Books } from '../domain/books.ts';
import type { MessageKey } from '../domain/message.ts';
import type { Clock } from '../ports/clock.ts';
import type { DeliveryListings } from '../ports/delivery-listings.ts';
import type { MessageListings, MessageWindow } from '../ports/message-listings.ts';
import type { MessageRecords } from '../ports/message-records.ts';

export type BooksContext = {
  clock: Pick<Clock, 'now'>;
  messageListings: MessageListings;
  records: Pick<MessageRecords, 'find'>;
  deliveryListings: Pick<DeliveryListings, 'tally'>;
};

/** After this no further messages are begun: half of what a request has. */
const ENOUGH_MS = 15_000;

/** Messages read side by side. Each is two small reads, so that the figures are all that takes memory. */
const PAGE = 40;

/**
 * What was accepted in a window against what became of it, counted message by message from the records. Where there are
 * more than can be counted in time it stops, and goes on from its `marker`: the parts add up to the whole.
 * @throws InvalidMarkerError
 */
export const booksOfWindow = async (
  context: BooksContext,
  window: MessageWindow,
  from: string | undefined,
): Promise<{ books: Books; marker?: string }> => {
  const { clock, messageListings } = context;
  const startedAt = clock.now();
  let books = EMPTY_BOOKS;
  let marker = from;
  do {
    const page = await messageListings.accepted(window, {
      limit: PAGE,
      ...(marker === undefined ? {} : { marker }),
    });
    const counted = await Promise.all(page.items.map(({ key }) => booksFor(context, key)));
    books = counted.reduce(addUp, books);
    ({ marker } = page);
  } while (marker !== undefined && clock.now() - startedAt < ENOUGH_MS);
  return marker === undefined ? { books } : { books, marker };
};

/** The listing may still have what was forgotten since. */
const booksFor = async ({ records, deliveryListings }: BooksContext, key: MessageKey): Promise<Books> => {
  const record = await records.find(key);
  if (record === undefined) return EMPTY_BOOKS;
  return booksOfMessage(record, await deliveryListings.tally(key, record.buckets));
};
