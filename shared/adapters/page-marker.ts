import { createHash } from 'node:crypto';
import * as z from 'zod';
import { InvalidMarkerError } from '../ports/page.ts';
import type { Page, PageRequest } from '../ports/page.ts';

const markerSchema = z.tuple([z.string(), z.string().min(1).max(256)]);

/** The listing of all queues; that of a queue's subscriptions goes by the queue's name, which holds no `#`. */
export const QUEUE_LISTING = '#queues';

/** An opaque marker: a digest that only the listing's own markers have, and the last item that was given. */
export const markerOf = (listing: string, last: string): string =>
  Buffer.from(JSON.stringify([digestOf(listing, last), last])).toString('base64url');

const digestOf = (listing: string, last: string): string =>
  createHash('sha256')
    .update(JSON.stringify([listing, last]))
    .digest('base64url')
    .slice(0, 16);

/**
 * The item after which a page begins; undefined for the first page. A marker holds no more than a name in its own
 * listing, so that a forged one reaches nothing that the listing would not show anyway.
 * @throws InvalidMarkerError
 */
export const lastOf = (listing: string, { marker }: PageRequest): string | undefined => {
  if (marker === undefined) return undefined;
  const parsed = markerSchema.safeParse(parsedJson(Buffer.from(marker, 'base64url').toString()));
  if (!parsed.success) throw new InvalidMarkerError();
  const [, last] = parsed.data;
  // Decoding base64url skips what it does not know; only the exact text that we would give out is taken.
  if (markerOf(listing, last) !== marker) throw new InvalidMarkerError();
  return last;
};

const parsedJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The page out of one item more than it may hold: the surplus one says that there is a next page. */
export const pageOf = <T>(
  listing: string,
  found: readonly T[],
  limit: number,
  nameOf: (item: T) => string,
): Page<T> => {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return found.length > limit && last !== undefined
    ? { items, marker: markerOf(listing, nameOf(last)) }
    : { items };
};
