import * as z from 'zod';
import { jsonOrUndefined } from '../../domain/json.ts';
import { InvalidMarkerError, type Page, type PageRequest } from '../../ports/page.ts';
import { inParallel } from '../in-parallel.ts';
import { hash } from 'node:crypto';

const markerSchema = z.tuple([z.string(), z.string().min(1).max(256)]);

/**
 * Name of the listing of all queues. The listing of a queue's subscriptions uses the queue's name, which contains
 * no `#`.
 */
export const QUEUE_LISTING = '#queues';

/** An opaque marker: a digest that is valid for this listing only, and the last item returned. */
function createMarker(listing: string, last: string): string {
  const digest = hash('sha256', JSON.stringify([listing, last]), 'base64url').slice(0, 16);
  return Buffer.from(JSON.stringify([digest, last])).toString('base64url');
}

/**
 * The item after which a page starts; undefined for the first page. A marker contains only a name in its listing,
 * so a forged one reveals nothing that the listing would not show.
 * @throws InvalidMarkerError
 */
export function parseMarker(listing: string, { marker }: PageRequest): string | undefined {
  if (marker === undefined) return undefined;
  const parsed = markerSchema.safeParse(jsonOrUndefined(Buffer.from(marker, 'base64url').toString()));
  if (!parsed.success) throw new InvalidMarkerError();
  const [, last] = parsed.data;
  // Decoding base64url ignores unknown characters; only the exact text that we issued is accepted.
  if (createMarker(listing, last) !== marker) throw new InvalidMarkerError();
  return last;
}

/** A page from one item more than its limit: the extra item shows that there is a next page. */
export function buildPage<T>(
  listing: string,
  found: readonly T[],
  limit: number,
  nameOf: (item: T) => string,
): Page<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return found.length > limit && last !== undefined
    ? { items, marker: createMarker(listing, nameOf(last)) }
    : { items };
}

/** A time, followed by ids that distinguish items of the same time. */
const PLACE = /^\d{13}(?:#[A-Za-z0-9_-]{1,64}){0,2}$/;

/**
 * The name of a listing with its selection. Markers are valid for this name only. The `#` distinguishes it from
 * listings named after a queue.
 */
export function nameListing(kind: string, selection: object): string {
  const sorted = Object.entries(selection)
    .filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const digest = hash('sha256', JSON.stringify(sorted), 'base64url');
  return `#${kind}#${digest}`;
}

/**
 * The position after which a page starts; undefined for the first page.
 * @throws InvalidMarkerError
 */
export function parseStartPlace(listing: string, request: PageRequest): string | undefined {
  const place = parseMarker(listing, request);
  if (place !== undefined && !PLACE.test(place)) throw new InvalidMarkerError();
  return place;
}

/** In milliseconds since the epoch. */
export function timeOfPlace(place: string): number {
  return Number(place.slice(0, 13));
}

/** A page that continues after `place`, or the last page if there is none. */
export function pageUpTo<T>(listing: string, items: readonly T[], place: string | undefined): Page<T> {
  return place === undefined ? { items } : { items, marker: createMarker(listing, place) };
}

/** An item and its position in a listing. Positions are unique and compared as text. */
export type PlacedItem<Item> = { place: string; item: Item };

/** `descending`: the greatest place first. */
export type Direction = 'ascending' | 'descending';

/** Reads the next entries of a part of a listing, in the listing's direction, at most `most` of them. */
export type ReadPart<Item> = (most: number) => Promise<PartPage<Item>>;

/**
 * `found` may be fewer than were read. `rest`: the position reached, and how to continue; absent at the end of
 * the part.
 */
type PartPage<Item> = { found: readonly PlacedItem<Item>[]; rest?: Rest<Item> };

type Rest<Item> = { readTo: string; read: ReadPart<Item> };

/**
 * `readTo`: the page covers all items up to this position, and there may be more. Absent at the end of the
 * listing.
 */
type MergedPage<Item> = { found: readonly PlacedItem<Item>[]; readTo?: string };

/** Far below the connections of a client (aws/client-options.ts). */
const CONCURRENT_READS = 32;

/**
 * The most reads of one part for one page. Usually one; more if the filter drops nearly everything, and then each
 * read covers eight times as many entries.
 */
const MAX_TURNS = 3;
const GROWTH = 8;

/** The most entries of one read. Entries of these indexes have about 300 bytes. */
const MAX_ENTRIES = 500;

/**
 * The next `limit` items of a listing whose parts, such as the shards of an index, are each sorted. Each part is
 * read at most three times; if that does not fill the page, it ends at the last position that all parts have
 * reached.
 */
export async function mergedPage<Item>(
  parts: readonly ReadPart<Item>[],
  direction: Direction,
  limit: number,
): Promise<MergedPage<Item>> {
  const isBefore = orderIn(direction);
  let found: readonly PlacedItem<Item>[] = [];
  let reads = parts;
  let behind: readonly Rest<Item>[] = [];
  for (let turn = 0; turn < MAX_TURNS && reads.length > 0; turn += 1) {
    const most = entriesToRead(limit, parts.length, turn);
    const pages = await inParallel(reads, CONCURRENT_READS, (read) => read(most));
    found = [...found, ...pages.flatMap((page) => page.found)]
      .sort((one, other) => (isBefore(one.place, other.place) ? -1 : 1))
      // One more than the limit shows that there is a next page, and how far the parts must be read for this one.
      .slice(0, limit + 1);
    const surplus = found[limit];
    behind = pages
      .flatMap(({ rest }) => (rest === undefined ? [] : [rest]))
      .filter(({ readTo }) => surplus === undefined || isBefore(readTo, surplus.place));
    reads = behind.map(({ read }) => read);
  }
  const [reached] = behind.map(({ readTo }) => readTo).sort((one, other) => (isBefore(one, other) ? -1 : 1));
  if (reached !== undefined)
    return { found: found.filter(({ place }) => !isBefore(reached, place)), readTo: reached };
  const last = found[limit - 1];
  return found.length > limit && last !== undefined
    ? { found: found.slice(0, limit), readTo: last.place }
    : { found };
}

/** Compares positions: whether the first comes before the second. */
export function orderIn(direction: Direction) {
  return (one: string, other: string): boolean => (direction === 'ascending' ? one < other : one > other);
}

/** Twice an even share plus a few, because entries are distributed over shards unevenly. */
function entriesToRead(limit: number, parts: number, turn: number): number {
  return Math.min(MAX_ENTRIES, (2 * Math.ceil((limit + 1) / parts) + 4) * GROWTH ** turn);
}
