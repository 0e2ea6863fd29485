import * as z from 'zod';
import { deliveryKeyIn, partWith } from '../../../shared/domain/delivery/fan-out.ts';
import {
  type Books,
  booksOfMatch,
  booksOfMessage,
  EMPTY_BOOKS,
  isBalanced,
  type SubscriptionMatch,
  sumOfBooks,
} from '../../../shared/domain/message/books.ts';
import { wasActiveAt } from '../../../shared/domain/message/matching.ts';
import { retentionOf } from '../../../shared/domain/message/retention.ts';
import type { MessageKey } from '../../../shared/domain/message/message.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { Deliveries, DeliveryListings } from '../../../shared/ports/deliveries.ts';
import type {
  MessageListings,
  MessageRecord,
  MessageRecords,
  MessageWindow,
} from '../../../shared/ports/messages.ts';
import { booksView, booksViewSchema } from '../../../shared/wire/views/books.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type AddRoute, json } from '../route.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { queuePath, subscriptionIdField } from '../paths.ts';
import { parseWith } from '../request-json.ts';
import { isOrderedWindow, WINDOW_ORDER_ERROR, windowFields, windowOf } from '../fields.ts';
import {
  deletedSubscriptionField,
  existingQueue,
  existingSubscription,
  type NamedSubscription,
} from '../existing.ts';

export function addBooksRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  addRoute(
    {
      method: 'GET',
      path: '/v2/queues/:queue/books',
      id: 'readBooks',
      tag: 'queues',
      summary:
        'Reconciliation report: the messages accepted in a window, and the outcomes of their deliveries',
      description:
        'Counted from the stored records. A long window is split into pages: follow `links` and add up the counts.',
      query: booksQuery,
      answers: { 200: json('The counts of the window, or of one page of it.', booksAnswerSchema) },
      refuses: [400, 404],
    },
    async (context) => {
      const {
        marker,
        deleted,
        subscription: subscriptionId,
        ...asked
      } = parseWith(booksQuery, context.req.query());
      const queue = await existingQueue(dependencies, context.req.param('queue'), { deleted });
      const window = { queue, ...windowOf(asked, dependencies.clock.now()) };
      const subscription =
        subscriptionId === undefined
          ? undefined
          : await existingSubscription(dependencies, { queue, subscriptionId }, { deleted });
      const { books, next } = await countBooks(
        dependencies,
        window,
        marker,
        subscription && countFor(dependencies, subscription),
      );
      const view = booksView(window, books, next?.countedUntil);
      const { since, until } = view;
      const shown = { since, until, deleted, subscription: subscriptionId };
      const links = nextLinks(`${queuePath(queue)}/books`, { marker: next?.marker }, shown);
      const answer: z.input<typeof booksAnswerSchema> = { ...view, links };
      return context.json(answer);
    },
  );
}

const booksAnswerSchema = booksViewSchema.extend({ links: linksSchema });

/** The query of the reconciliation report. The default window is the last 24 hours. */
const booksQuery = z
  .strictObject({
    marker: pageFields.marker,
    ...windowFields,
    ...deletedSubscriptionField,
    subscription: subscriptionIdField
      .describe('Counts only the deliveries to this subscription.')
      .exactOptional(),
  })
  .refine(isOrderedWindow, WINDOW_ORDER_ERROR);

type BooksContext = {
  clock: Pick<Clock, 'now'>;
  messageListings: Pick<MessageListings, 'accepted'>;
  messageRecords: Pick<MessageRecords, 'find'>;
  deliveryListings: Pick<DeliveryListings, 'tally'>;
  settings: { retentionMs: number };
};

/** Messages counted in parallel; each takes two or three small reads, and more for each 250 deliveries. */
const PAGE_SIZE = 40;

/**
 * Stops after so many messages and deliveries: a request must not hold the function, and callers show the counts so far.
 * One page is always counted.
 */
const MOST_COUNTED = 1_000;

/**
 * The number of messages accepted in a window, and of their deliveries by state, counted from the records. Of many, it
 * returns the counts of a part, and how to get the next; the parts add up. `countedUntil`: acceptance time of the last
 * message counted, if any. `count`: the report of a message.
 * @throws InvalidMarkerError
 */
export async function countBooks(
  context: BooksContext,
  window: MessageWindow,
  from: string | undefined,
  count: (message: MessageRecord) => Promise<Books> = async (message) =>
    booksOfMessage(message, await context.deliveryListings.tally(message)),
): Promise<{ books: Books; next?: { marker: string; countedUntil: number | undefined } }> {
  const { clock, messageListings, messageRecords, settings } = context;
  const startedAt = clock.now();
  const countOne = async (key: MessageKey): Promise<Books> => {
    const record = await messageRecords.find(key);
    // The listing is eventually consistent, so a record may be missing.
    if (record === undefined) return EMPTY_BOOKS;
    // Some of the delivery records of an older message may have expired.
    return record.acceptedAt <= startedAt - retentionOf(record, settings) ? EMPTY_BOOKS : count(record);
  };
  let books = EMPTY_BOOKS;
  let marker = from;
  let countedUntil: number | undefined;
  let done = 0;
  do {
    const page = await messageListings.accepted(window, { limit: PAGE_SIZE, marker });
    const counted = await Promise.all(page.items.map(({ key }) => countOne(key)));
    done += counted.reduce((sum, { matched }) => sum + matched, PAGE_SIZE);
    books = counted.reduce(sumOfBooks, books);
    ({ marker } = page);
    countedUntil = page.items.at(-1)?.acceptedAt ?? countedUntil;
  } while (marker !== undefined && done < MOST_COUNTED);
  if (marker === undefined) return { books };
  return { books, next: { marker, countedUntil } };
}

type MatchContext = {
  deliveries: Pick<Deliveries, 'find'>;
  deliveryListings: Pick<DeliveryListings, 'tally'>;
};

/** Returns the reconciliation report of a message for one subscription. */
function countFor(context: MatchContext, subscription: NamedSubscription) {
  return async (message: MessageRecord): Promise<Books> =>
    booksOfMatch(message, await matchOf(context, message, subscription));
}

/**
 * Reads the other deliveries of a message only if the subscription has none of it: if all that matched are on record,
 * the subscription did not match.
 */
async function matchOf(
  { deliveries, deliveryListings }: MatchContext,
  message: MessageRecord,
  { id, record: subscription }: NamedSubscription,
): Promise<SubscriptionMatch> {
  const delivery = await deliveries.find(deliveryKeyIn(message, id));
  if (delivery !== undefined) return delivery.status;
  const { listedAt } = partWith(message, id);
  if (subscription !== undefined && subscription.createdAt > listedAt) return 'unmatched';
  if (!isBalanced(booksOfMessage(message, await deliveryListings.tally(message)))) return 'unfinished';
  const wasSubscribed = subscription !== undefined && wasActiveAt(subscription, { ...message, listedAt });
  return wasSubscribed ? 'filtered' : 'unmatched';
}
