import * as z from 'zod';
import {
  DELIVERIES_PER_BUCKET,
  deliveryKeyIn,
  partWith,
  toBucketRange,
} from '../../../shared/domain/delivery/fan-out.ts';
import {
  type Books,
  booksOfMatch,
  booksOfMessage,
  EMPTY_BOOKS,
  isBalanced,
  type StatusCounts,
  type SubscriptionMatch,
  sumOfBooks,
  sumOfCounts,
} from '../../../shared/domain/delivery/books.ts';
import { jsonOrUndefined } from '../../../shared/domain/json.ts';
import { wasActiveAt } from '../../../shared/domain/message/matching.ts';
import { computeRetention } from '../../../shared/domain/retention.ts';
import { STATUSES, toRecord } from '../../../shared/domain/delivery/vocabulary.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { DeliveryListings } from '../../../shared/ports/deliveries.ts';
import type {
  ListedMessage,
  MessageListings,
  MessageRecord,
  MessageRecords,
  MessageWindow,
} from '../../../shared/ports/messages.ts';
import { InvalidMarkerError, type Page, type PageRequest } from '../../../shared/ports/page.ts';
import { booksView, booksViewSchema } from '../../../shared/wire/views/books.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { countDeliveries, type DeliveryCount, MAX_COUNTED_BUCKETS } from '../messages/messages.ts';
import { type AddRoute, json, jsonAnswer } from '../route.ts';
import { linksSchema, nextLinks, pageFields } from '../paging.ts';
import { subscriptionIdField } from '../paths.ts';
import { completeWindow, windowed, windowFields } from '../fields.ts';
import {
  deletedSubscriptionField,
  existingQueue,
  existingSubscription,
  type NamedSubscription,
} from '../existing.ts';

export function addBooksRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  addRoute({
    key: 'GET /v2/queues/{queue}/books',
    id: 'readBooks',
    summary: 'Reconciliation report: the messages accepted in a window, and the outcomes of their deliveries',
    description:
      'Counted from the stored records. A long window is split into pages: follow `links` and add up the counts.',
    query: booksQuery,
    answers: { 200: json('The counts of the window, or of one page of it.', booksAnswerSchema) },
    handle: async ({ path, params, query }) => {
      const { marker, deleted, subscription: subscriptionId, ...asked } = query;
      const queue = await existingQueue(dependencies, params.queue, { deleted });
      const window = { queue, ...completeWindow(asked, dependencies.clock.now()) };
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
      const links = nextLinks(path, { marker: next?.marker }, shown);
      return jsonAnswer({ ...view, links } satisfies z.input<typeof booksAnswerSchema>);
    },
  });
}

const booksAnswerSchema = booksViewSchema.extend({ links: linksSchema });

/** The query of the reconciliation report. The default window is the last 24 hours. */
const booksQuery = windowed(
  z.strictObject({
    marker: pageFields.marker,
    ...windowFields,
    ...deletedSubscriptionField,
    subscription: subscriptionIdField
      .describe('Counts only the deliveries to this subscription.')
      .exactOptional(),
  }),
);

type BooksContext = {
  clock: Pick<Clock, 'now'>;
  messageListings: Pick<MessageListings, 'accepted'>;
  messageRecords: Pick<MessageRecords, 'find'>;
  deliveryListings: Pick<DeliveryListings, 'tally'>;
  settings: { retentionMs: number };
};

/** Messages counted in parallel; each takes three small reads, and more for each 250 deliveries. */
const PAGE_SIZE = 40;

/**
 * Stops after so many deliveries, and two pages of messages: a request must not hold the function, and callers show the
 * counts so far. One page is always counted. A message takes as long as twenty deliveries.
 */
const MAX_COUNTED = 1_000;
const COST_OF_MESSAGE = 20;

/** Counts the deliveries of a message, or a part of those of a large one. */
type Tally = () => Promise<DeliveryCount>;

/** The report of a message. Undefined if it needs deliveries that are not counted yet. */
type Count = (message: MessageRecord, tally: Tally) => Promise<Books | undefined>;

/**
 * The number of messages accepted in a window, and of their deliveries by state, counted from the records. Of many, it
 * returns the counts of a part, and how to get the next; the parts add up. `countedUntil`: acceptance time of the last
 * message counted, if any.
 * @throws InvalidMarkerError
 */
export async function countBooks(
  context: BooksContext,
  window: MessageWindow,
  from: string | undefined,
  count: Count = countAll,
): Promise<{ books: Books; next?: { marker: string; countedUntil: number | undefined } }> {
  let { marker, begun } = placeIn(from);
  let books = EMPTY_BOOKS;
  let countedUntil: number | undefined;
  let done = 0;
  for (let limit = PAGE_SIZE; ;) {
    const { page, records } = await nextMessages(context, window, { limit, marker }, begun);
    const counted = await countMessages(context, records, { begun, count });
    if (counted.unfinished !== undefined)
      return { books, next: { marker: markerAt(marker, counted.unfinished), countedUntil } };
    if (page === undefined) {
      // A large message whose report needs no deliveries is read again alone: only then has it a marker.
      limit = 1;
      continue;
    }
    limit = PAGE_SIZE;
    done += counted.cost;
    books = sumOfBooks(books, counted.books);
    ({ marker } = page);
    begun = undefined;
    countedUntil = page.items.map(({ acceptedAt }) => acceptedAt).at(-1) ?? countedUntil;
    if (marker === undefined) return { books };
    if (done >= MAX_COUNTED) return { books, next: { marker, countedUntil } };
  }
}

/** `cost`: as that of so many deliveries. `unfinished`: a large message of which only a part is counted. */
async function countMessages(
  { clock, deliveryListings, settings }: BooksContext,
  records: readonly MessageRecord[],
  { begun, count }: { begun: Begun | undefined; count: Count },
): Promise<{ books: Books; cost: number; unfinished: Begun | undefined }> {
  const now = clock.now();
  let cost = COST_OF_MESSAGE * PAGE_SIZE;
  let unfinished: Begun | undefined;
  const countOne = async (record: MessageRecord): Promise<Books> => {
    // Some of the delivery records of an older message may have expired.
    if (record.acceptedAt <= now - computeRetention(record, settings)) return EMPTY_BOOKS;
    const tally: Tally = async () => {
      const counted = await countDeliveries(deliveryListings, record, findBegun(record, begun));
      const { counts, next } = counted;
      cost += Math.max(sumOfCounts(counts), DELIVERIES_PER_BUCKET * (countBuckets(record) - 1));
      if (next !== undefined) unfinished = { counts, next, messageId: record.key.messageId };
      return counted;
    };
    return (await count(record, tally)) ?? EMPTY_BOOKS;
  };
  const counted = await Promise.all(records.map(countOne));
  return { books: counted.reduce(sumOfBooks, EMPTY_BOOKS), cost, unfinished };
}

async function countAll(message: MessageRecord, tally: Tally): Promise<Books | undefined> {
  const { counts, next } = await tally();
  return next === undefined ? booksOfMessage(message, counts) : undefined;
}

/**
 * The next messages of a window: as many as one request can count, or a large one alone. Reads the page again with a
 * smaller limit, because only the listing can create the marker of a shorter page. Without `page`: a message that needs
 * several requests, and no marker; with the limit 1 it has one.
 */
async function nextMessages(
  { messageListings, messageRecords }: BooksContext,
  window: MessageWindow,
  { limit: most, marker }: PageRequest,
  begun: Begun | undefined,
): Promise<{ page?: Page<ListedMessage>; records: MessageRecord[] }> {
  for (let limit = most; ;) {
    const page = await messageListings.accepted(window, { limit, marker });
    const found = await Promise.all(page.items.map(({ key }) => messageRecords.find(key)));
    const [first] = found;
    if (limit > 1 && first !== undefined && bucketsLeft(first, begun) > MAX_COUNTED_BUCKETS)
      return { records: [first] };
    let room = MAX_COUNTED_BUCKETS;
    const beyond = found.findIndex((record) => record !== undefined && (room -= countBuckets(record)) < 0);
    // The listing is eventually consistent, so a record may be missing.
    if (beyond === -1 || limit === 1) {
      return { page, records: found.filter((record) => record !== undefined) };
    }
    limit = Math.max(1, beyond);
  }
}

function countBuckets(message: MessageRecord): number {
  const { first, end } = toBucketRange(message);
  return end - first;
}

function bucketsLeft(message: MessageRecord, begun: Begun | undefined): number {
  const { first, end } = toBucketRange(message);
  return end - (findBegun(message, begun)?.next ?? first);
}

function findBegun({ key }: MessageRecord, begun: Begun | undefined): Begun | undefined {
  return begun?.messageId === key.messageId ? begun : undefined;
}

/** What is counted of a large message. */
type Begun = { messageId: string; counts: StatusCounts; next: number };

const number = z.int().min(0).max(1e9);

const begunSchema = z.strictObject({
  messageId: z.string(),
  next: number,
  counts: z.strictObject(toRecord(STATUSES, () => number)),
});

/** Within a message that is not counted yet: the marker before it, and what is counted. A marker of a listing contains no dot. */
function markerAt(marker: string | undefined, begun: Begun): string {
  return `${marker ?? ''}.${Buffer.from(JSON.stringify(begun)).toString('base64url')}`;
}

/** A forged marker gives only its sender wrong counts. @throws InvalidMarkerError */
function placeIn(from: string | undefined): { marker: string | undefined; begun?: Begun | undefined } {
  const [marker, text] = from?.split('.') ?? [];
  if (text === undefined) return { marker };
  const begun = begunSchema.safeParse(jsonOrUndefined(Buffer.from(text, 'base64url').toString()));
  if (!begun.success) throw new InvalidMarkerError();
  return { marker: marker === '' ? undefined : marker, begun: begun.data };
}

/** Returns the reconciliation report of a message for one subscription. */
function countFor(context: ApiDependencies, subscription: NamedSubscription): Count {
  return async (message, tally) => {
    const match = await findMatch(context, message, subscription, tally);
    return match && booksOfMatch(message, match);
  };
}

/**
 * Reads the other deliveries of a message only if the subscription has none of it: if all that matched are on record,
 * the subscription did not match.
 */
async function findMatch(
  { deliveries }: ApiDependencies,
  message: MessageRecord,
  { id, record: subscription }: NamedSubscription,
  tally: Tally,
): Promise<SubscriptionMatch | undefined> {
  const delivery = await deliveries.find(deliveryKeyIn(message, id));
  if (delivery !== undefined) return delivery.status;
  const { listedAt } = partWith(message, id);
  if (subscription !== undefined && subscription.createdAt > listedAt) return 'unmatched';
  const books = await countAll(message, tally);
  if (books === undefined) return undefined;
  if (!isBalanced(books)) return 'unfinished';
  const wasSubscribed = subscription !== undefined && wasActiveAt(subscription, { ...message, listedAt });
  return wasSubscribed ? 'filtered' : 'unmatched';
}
