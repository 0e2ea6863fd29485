import { inParallel } from '../in-parallel.ts';

/** An item and its place in a listing: places are compared as text, and no two are the same. */
export type Placed<Item> = { place: string; item: Item };

/** `descending`: the greatest place first. */
export type Direction = 'ascending' | 'descending';

/** Reads on in a part of a listing, in the listing's direction, past at most `most` entries. */
export type ReadPart<Item> = (most: number) => Promise<PartPage<Item>>;

/** `found` may be fewer than were read past. `rest`: how far it came, and how it goes on; absent at the end of the part. */
export type PartPage<Item> = { found: readonly Placed<Item>[]; rest?: Rest<Item> };

type Rest<Item> = { readTo: string; read: ReadPart<Item> };

/** `readTo`: all up to this place have been given, and there may be more. Absent at the end of the listing. */
export type MergedPage<Item> = { found: readonly Placed<Item>[]; readTo?: string };

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
