import { createHash } from 'node:crypto';
import { InvalidMarkerError } from '../ports/page.ts';
import type { Page, PageRequest } from '../ports/page.ts';
import { lastOf, markerOf } from './page-marker.ts';

/** A time, and behind it the ids that tell apart what has the same time. */
const PLACE = /^\d{13}(?:#[A-Za-z0-9_-]{1,64}){0,2}$/;

/**
 * A listing and what was selected from it, as the markers of its pages know it: a marker means nothing in any other. The
 * `#` keeps it apart from the listings that go by the name of a queue.
 */
export const listingOf = (kind: string, selection: object): string => {
  const sorted = Object.entries(selection)
    .filter(([, value]) => value !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const digest = createHash('sha256').update(JSON.stringify(sorted)).digest('base64url');
  return `#${kind}#${digest}`;
};

/** The place after which a page begins; undefined for the first. @throws InvalidMarkerError */
export const placeAsked = (listing: string, request: PageRequest): string | undefined => {
  const place = lastOf(listing, request);
  if (place !== undefined && !PLACE.test(place)) throw new InvalidMarkerError();
  return place;
};

/** In milliseconds since the epoch. */
export const timeOfPlace = (place: string): number => Number(place.slice(0, 13));

/** A page that goes on after `place`, or is the last. */
export const pageUpTo = <T>(listing: string, items: readonly T[], place: string | undefined): Page<T> =>
  place === undefined ? { items } : { items, marker: markerOf(listing, place) };
