import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { deliveryIndexes } from '../config/tables.ts';
import type { ListedMessage, MessageListings, MessageWindow } from '../ports/message-listings.ts';
import { byHourPartition, LAST_TIME, messageKeyOf, shards, sortableTime } from './delivery-keys.ts';
import { readIndexPart } from './index-part.ts';
import { listingOf, pageUpTo, placeAsked, timeOfPlace } from './listing-marker.ts';
import { mergedPage, type ReadPart } from './merged-page.ts';
import { decoded } from './record.ts';

const HOUR_MS = 60 * 60 * 1000;

/** The hours that one page looks through at most: 1 + 2 + 4 + 8 + 16 + 32, eight queries each. */
const MOST_HOURS = 63;

/** The index by hour. Errors of the SDK pass through. */
export const dynamoMessageListings = (
  client: DynamoDBDocumentClient,
  tableName: string,
): MessageListings => ({
  accepted: async (window, request) => {
    const listing = listingOf('messages', window);
    const after = placeAsked(listing, request);
    const { first, end } = hoursOf(window, after);
    const most = Math.min(end, first + MOST_HOURS);
    const items: ListedMessage[] = [];
    let hour = first;
    // One hour at a time where there is something in it; twice as many at once after each time that there is nothing.
    for (let atOnce = 1; hour < most && items.length < request.limit;) {
      const next = Math.min(hour + atOnce, most);
      const parts = partsOf(client, tableName, { window, after, hours: { first: hour, end: next } });
      const { found, readTo } = await mergedPage(parts, 'ascending', request.limit - items.length);
      items.push(...found.map(({ item }) => item));
      if (readTo !== undefined) return pageUpTo(listing, items, readTo);
      atOnce = found.length === 0 ? atOnce * 2 : 1;
      hour = next;
    }
    return pageUpTo(listing, items, hour < end ? sortableTime(hour * HOUR_MS) : undefined);
  },
});

/** Counted from 1970, without `end`. */
type Hours = { first: number; end: number };

const hoursOf = ({ since, until }: MessageWindow, after: string | undefined): Hours => {
  const from = after === undefined ? since : Math.max(since, timeOfPlace(after));
  return {
    first: Math.floor(Math.max(from, 0) / HOUR_MS),
    end: Math.ceil(Math.min(until, LAST_TIME) / HOUR_MS),
  };
};

const partsOf = (
  client: DynamoDBDocumentClient,
  tableName: string,
  { window, after, hours }: { window: MessageWindow; after: string | undefined; hours: Hours },
): ReadPart<ListedMessage>[] => {
  const range = { first: sortableTime(window.since), last: sortableTime(window.until), after };
  return Array.from({ length: hours.end - hours.first }, (_, index) => hours.first + index).flatMap((hour) =>
    Array.from({ length: shards.byHour }, (_, shard) =>
      readIndexPart(
        client,
        tableName,
        {
          ...range,
          index: deliveryIndexes.byHour,
          partition: byHourPartition(window.queue, hour * HOUR_MS, shard),
          direction: 'ascending',
        },
        listedOf,
      ),
    ),
  );
};

const entrySchema = z
  .object({ pk: z.string(), sk: z.string(), [deliveryIndexes.byHour.sort]: z.string().regex(/^\d{13}#/) })
  .transform((entry, context): ListedMessage => {
    const key = messageKeyOf(entry);
    if (key !== undefined) return { key, acceptedAt: timeOfPlace(entry[deliveryIndexes.byHour.sort]) };
    context.addIssue({ code: 'custom', path: ['pk'], message: 'is no key of a message' });
    return z.NEVER;
  });

const listedOf = (entry: unknown): ListedMessage => decoded(entrySchema, entry);
