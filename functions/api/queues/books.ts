import * as z from 'zod';
import { type Books, booksOfMessage, EMPTY_BOOKS, sumOfBooks } from '../../../shared/domain/message/books.ts';
import type { MessageKey } from '../../../shared/domain/message/message.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { DeliveryListings } from '../../../shared/ports/deliveries.ts';
import type { MessageListings, MessageRecords, MessageWindow } from '../../../shared/ports/messages.ts';
import { booksView, booksViewSchema } from '../../../shared/wire/views/books.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type AddRoute, json } from '../route.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { queuePath } from '../paths.ts';
import { parseWith } from '../request-json.ts';
import { isWindow, NO_WINDOW, windowFields, windowOf } from '../fields.ts';
import { deletedField, existingQueue } from './existing-queue.ts';

export function addBooksRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  addRoute(
    {
      method: 'GET',
      path: '/v2/queues/:queue/books',
      id: 'readBooks',
      tag: 'queues',
      summary: 'What was accepted in a window, and what came of it',
      description: 'Counted from the records. A long window comes in pages: follow `links`, and add them up.',
      query: booksQuery,
      answers: { 200: json('The books of the window, or of a part of it.', booksAnswerSchema) },
      refuses: [400, 404],
    },
    async (context) => {
      const { marker, deleted, ...asked } = parseWith(booksQuery, context.req.query());
      const queue = await existingQueue(dependencies, context.req.param('queue'), { deleted });
      const window = { queue, ...windowOf(asked, dependencies.clock.now()) };
      const { books, marker: next } = await countBooks(dependencies, window, marker);
      const view = booksView(window, books);
      const links = nextLinks(
        `${queuePath(queue)}/books`,
        { ...(next === undefined ? {} : { marker: next }) },
        { since: view.since, until: view.until, deleted },
      );
      const answer: z.input<typeof booksAnswerSchema> = { ...view, links: [...links] };
      return context.json(answer);
    },
  );
}

export const booksAnswerSchema = booksViewSchema.extend({ links: linksSchema });

/** The query of the books; the default window is the last 24 hours. */
export const booksQuery = z
  .strictObject({ marker: pageFields.marker, ...windowFields, ...deletedField })
  .refine(isWindow, NO_WINDOW);

type BooksContext = {
  clock: Pick<Clock, 'now'>;
  messageListings: MessageListings;
  messageRecords: Pick<MessageRecords, 'find'>;
  deliveryListings: Pick<DeliveryListings, 'tally'>;
  settings: { retentionMs: number };
};

/** No further page is read after this: half of the time that a request has. */
const COUNTING_MS = 15_000;

/** Messages counted in parallel; each takes two small reads. */
const PAGE = 40;

/**
 * Counts, from the records, the messages accepted in a window and the states of their deliveries. When it runs out of time
 * it returns a part with a `marker` for the next; the parts add up to the whole.
 * @throws InvalidMarkerError
 */
export async function countBooks(
  context: BooksContext,
  window: MessageWindow,
  from: string | undefined,
): Promise<{ books: Books; marker?: string }> {
  const { clock, messageListings, settings } = context;
  const startedAt = clock.now();
  const forgottenBefore = startedAt - settings.retentionMs;
  let books = EMPTY_BOOKS;
  let marker = from;
  do {
    const page = await messageListings.accepted(window, {
      limit: PAGE,
      ...(marker === undefined ? {} : { marker }),
    });
    const counted = await Promise.all(
      page.items.map(({ key }) => countMessage(context, key, forgottenBefore)),
    );
    books = counted.reduce(sumOfBooks, books);
    ({ marker } = page);
  } while (marker !== undefined && clock.now() - startedAt < COUNTING_MS);
  return marker === undefined ? { books } : { books, marker };
}

/**
 * The listing is eventually consistent: its record may have expired since. Of a message that is older than the retention the
 * records of some deliveries may be gone, so it is left out.
 */
async function countMessage(
  { messageRecords, deliveryListings }: BooksContext,
  key: MessageKey,
  forgottenBefore: number,
): Promise<Books> {
  const record = await messageRecords.find(key);
  if (record === undefined || record.acceptedAt <= forgottenBefore) return EMPTY_BOOKS;
  return booksOfMessage(record, await deliveryListings.tally(record));
}
