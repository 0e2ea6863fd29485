import * as z from 'zod';
import { InvalidMarkerError, type Page, type PageRequest } from '../../ports/page.ts';
import { inParallel } from '../in-parallel.ts';
import { createHash } from 'node:crypto';

const markerSchema = z.tuple([z.string(), z.string().min(1).max(256)]);

/** The listing of all queues; that of a queue's subscriptions goes by the queue's name, which holds no `#`. */
export const QUEUE_LISTING = '#queues';

/** An opaque marker: a digest that only the listing's own markers have, and the last item that was given. */
function markerOf(listing: string, last: string): string {
  return Buffer.from(JSON.stringify([digestOf(listing, last), last])).toString('base64url');
}

function digestOf(listing: string, last: string): string {
  return createHash('sha256')
    .update(JSON.stringify([listing, last]))
    .digest('base64url')
    .slice(0, 16);
}

/**
 * The item after which a page begins; undefined for the first page. A marker holds no more than a name in its own
 * listing, so that a forged one reaches nothing that the listing would not show anyway.
 * @throws InvalidMarkerError
 */
export function lastOf(listing: string, { marker }: PageRequest): string | undefined {
  if (marker === undefined) return undefined;
  const parsed = markerSchema.safeParse(parsedJson(Buffer.from(marker, 'base64url').toString()));
  if (!parsed.success) throw new InvalidMarkerError();
  const [, last] = parsed.data;
  // Decoding base64url skips what it does not know; only the exact text that we would give out is taken.
  if (markerOf(listing, last) !== marker) throw new InvalidMarkerError();
  return last;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The page out of one item more than it may hold: the surplus one says that there is a next page. */
export function pageOf<T>(
  listing: string,
  found: readonly T[],
  limit: number,
  nameOf: (item: T) => string,
): Page<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return found.length > limit && last !== undefined
    ? { items, marker: markerOf(listing, nameOf(last)) }
    : { items };
}

/** A time, and behind it the ids that tell apart what has the same time. */
const PLACE = /^\d{13}(?:#[A-Za-z0-9_-]{1,64}){0,2}$/;

/**
 * A listing and what was selected from it, as the markers of its pages know it: a marker means nothing in any other. The
 * `#` keeps it apart from the listings that go by the name of a queue.
 */
export function listingOf(kind: string, selection: object): string {
  const sorted = Object.entries(selection)
    .filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const digest = createHash('sha256').update(JSON.stringify(sorted)).digest('base64url');
  return `#${kind}#${digest}`;
}

/** The place after which a page begins; undefined for the first. @throws InvalidMarkerError */
export function placeAsked(listing: string, request: PageRequest): string | undefined {
  const place = lastOf(listing, request);
  if (place !== undefined && !PLACE.test(place)) throw new InvalidMarkerError();
  return place;
}

/** In milliseconds since the epoch. */
export function timeOfPlace(place: string): number {
  return Number(place.slice(0, 13));
}

/** A page that goes on after `place`, or is the last. */
export function pageUpTo<T>(listing: string, items: readonly T[], place: string | undefined): Page<T> {
  return place === undefined ? { items } : { items, marker: markerOf(listing, place) };
}

/** An item and its place in a listing: places are compared as text, and no two are the same. */
export type Placed<Item> = { place: string; item: Item };

/** `descending`: the greatest place first. */
export type Direction = 'ascending' | 'descending';

/** Reads on in a part of a listing, in the listing's direction, past at most `most` entries. */
export type ReadPart<Item> = (most: number) => Promise<PartPage<Item>>;

/** `found` may be fewer than were read past. `rest`: how far it came, and how it goes on; absent at the end of the part. */
type PartPage<Item> = { found: readonly Placed<Item>[]; rest?: Rest<Item> };

type Rest<Item> = { readTo: string; read: ReadPart<Item> };

/** `readTo`: all up to this place have been given, and there may be more. Absent at the end of the listing. */
type MergedPage<Item> = { found: readonly Placed<Item>[]; readTo?: string };

/** Queries side by side; well within the SDK's 50 sockets. */
const SIDE_BY_SIDE = 32;

/**
 * How often a part is read on for one page. Usually once; more where nearly everything is filtered out, and then each time
 * four times as far.
 */
const MOST_TURNS = 5;
const GROWTH = 4;

/** The entries that one read passes at most. Those of our indexes have some 300 bytes, and DynamoDB stops at 1 MB anyway. */
const MOST_ENTRIES = 1_000;

/**
 * The next `limit` items of a listing whose parts, such as the shards of an index, are each in order. Never more than five
 * reads of each part: where these do not fill the page, it ends at the last place that all parts have come to.
 */
export async function mergedPage<Item>(
  parts: readonly ReadPart<Item>[],
  direction: Direction,
  limit: number,
): Promise<MergedPage<Item>> {
  const isBefore = placesIn(direction);
  let found: readonly Placed<Item>[] = [];
  let reads = parts;
  let behind: readonly Rest<Item>[] = [];
  for (let turn = 0; turn < MOST_TURNS && reads.length > 0; turn += 1) {
    const most = entriesToRead(limit, parts.length, turn);
    const pages = await inParallel(reads, SIDE_BY_SIDE, (read) => read(most));
    found = [...found, ...pages.flatMap((page) => page.found)]
      .sort((one, other) => (isBefore(one.place, other.place) ? -1 : 1))
      // One more than the page holds tells that there is a next page, and how far the parts have to be read for this one.
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

/** Whether one place comes before another. */
export function placesIn(direction: Direction) {
  return (one: string, other: string): boolean => (direction === 'ascending' ? one < other : one > other);
}

/** Twice an even share and a few more: chance spreads entries over shards unevenly. */
function entriesToRead(limit: number, parts: number, turn: number): number {
  return Math.min(MOST_ENTRIES, (2 * Math.ceil((limit + 1) / parts) + 4) * GROWTH ** turn);
}
