import type { DynamoDBDocument } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { deliveryIndexes } from '../../../config/tables.ts';
import type { ListedMessage, MessageListings, MessageWindow } from '../../../ports/messages.ts';
import type { Page, PageRequest } from '../../../ports/page.ts';
import { byHourPartition, LAST_TIME, parseMessageKey, shards, sortableTime } from './delivery-keys.ts';
import { readIndexPart } from '../queries.ts';
import {
  type Direction,
  nameListing,
  mergedPage,
  pageUpTo,
  parseStartPlace,
  type ReadPart,
  timeOfPlace,
} from '../pages.ts';
import { decode, keySchema } from '../record.ts';
import { openTable, type Table } from '../table.ts';

const HOUR_MS = 60 * 60 * 1000;

/** The most hours that one page looks through: 1 + 2 + 4 + 8 + 16, with eight queries each. */
const MAX_HOURS = 31;

/** Listings of messages by the index by hour. AWS errors pass through. */
export function dynamoMessageListings(client: DynamoDBDocument, tableName: string): MessageListings {
  const table = openTable(client, tableName);
  const listPage = async (
    direction: Direction,
    window: MessageWindow,
    request: PageRequest,
  ): Promise<Page<ListedMessage>> => {
    const listing = nameListing(`messages ${direction}`, window);
    const after = parseStartPlace(listing, request);
    const items: ListedMessage[] = [];
    let left = toHours(window, direction, after);
    // One hour at a time while messages are found; after an empty step the number of hours doubles.
    for (
      let hoursTogether = 1, looked = 0;
      !isOver(left) && looked < MAX_HOURS && items.length < request.limit;
    ) {
      const { hours, rest } = splitHours(left, direction, Math.min(hoursTogether, MAX_HOURS - looked));
      const parts = buildParts(table, { window, after, direction, hours });
      const { found, readTo } = await mergedPage(parts, direction, request.limit - items.length);
      items.push(...found.map(({ item }) => item));
      if (readTo !== undefined) return pageUpTo(listing, items, readTo);
      hoursTogether = found.length === 0 ? hoursTogether * 2 : 1;
      looked += hours.end - hours.first;
      left = rest;
    }
    return pageUpTo(listing, items, isOver(left) ? undefined : buildBorder(left, direction));
  };

  return {
    accepted: (window, request) => listPage('ascending', window, request),
    newest: (window, request) => listPage('descending', window, request),
  };
}

/** Hours since 1970; `end` is exclusive. */
type Hours = { first: number; end: number };

function isOver({ first, end }: Hours): boolean {
  return first >= end;
}

/** The hours of the window that remain after a position. */
function toHours({ since, until }: MessageWindow, direction: Direction, after: string | undefined): Hours {
  const hours = {
    first: Math.floor(Math.max(since, 0) / HOUR_MS),
    end: Math.ceil(Math.min(until, LAST_TIME) / HOUR_MS),
  };
  if (after === undefined) return hours;
  const hour = Math.floor(timeOfPlace(after) / HOUR_MS);
  return direction === 'ascending'
    ? { ...hours, first: Math.max(hours.first, hour) }
    : { ...hours, end: Math.min(hours.end, hour + 1) };
}

/** The next hours in the direction of the listing, and the rest. */
function splitHours(
  { first, end }: Hours,
  direction: Direction,
  count: number,
): { hours: Hours; rest: Hours } {
  const border = direction === 'ascending' ? Math.min(first + count, end) : Math.max(end - count, first);
  const earlier = { first, end: border };
  const later = { first: border, end };
  return direction === 'ascending' ? { hours: earlier, rest: later } : { hours: later, rest: earlier };
}

/** The position between the hours already listed and the remaining ones. */
function buildBorder({ first, end }: Hours, direction: Direction): string {
  return sortableTime((direction === 'ascending' ? first : end) * HOUR_MS);
}

function buildParts(
  table: Table,
  {
    window,
    hours,
    ...range
  }: { window: MessageWindow; after: string | undefined; direction: Direction; hours: Hours },
): ReadPart<ListedMessage>[] {
  return Array.from({ length: hours.end - hours.first }, (_, index) => hours.first + index).flatMap((hour) =>
    Array.from({ length: shards.byHour }, (_, shard) =>
      readIndexPart(
        table,
        {
          ...range,
          first: sortableTime(window.since),
          last: sortableTime(window.until),
          index: deliveryIndexes.byHour,
          partition: byHourPartition(window.queue, hour * HOUR_MS, shard),
        },
        toListedMessage,
      ),
    ),
  );
}

const messageKeySchema = keySchema(parseMessageKey, 'pk');

const entrySchema = z.object({ [deliveryIndexes.byHour.sort]: z.string().regex(/^\d{13}#/) });

function toListedMessage(entry: unknown): ListedMessage {
  const { [deliveryIndexes.byHour.sort]: place } = decode(entrySchema, entry);
  return { key: decode(messageKeySchema, entry), acceptedAt: timeOfPlace(place) };
}
