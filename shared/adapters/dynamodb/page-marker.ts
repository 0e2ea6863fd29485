import * as z from 'zod';
import { InvalidMarkerError, type Page, type PageRequest } from '../../ports/page.ts';
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
