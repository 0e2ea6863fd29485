import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  mergedPage,
  type Direction,
  type PlacedItem,
  type ReadPart,
} from '../../../shared/adapters/dynamodb/pages.ts';

type Shard = readonly PlacedItem<string>[];

/** A part over sorted entries. `isWanted` is its filter, and `reads` counts the reads. */
const partOf = (
  shard: Shard,
  reads: { count: number; passed: number },
  isWanted: (item: string) => boolean = () => true,
): ReadPart<string> => {
  const from =
    (start: number): ReadPart<string> =>
    (most) => {
      reads.count += 1;
      const passed = shard.slice(start, start + most);
      reads.passed += passed.length;
      const last = passed.at(-1);
      const found = passed.filter(({ item }) => isWanted(item));
      // As in DynamoDB: a query that stops exactly at the end does not know yet that it is the end.
      return Promise.resolve(
        last === undefined || passed.length < most
          ? { found }
          : { found, rest: { readTo: last.place, read: from(start + most) } },
      );
    };
  return from(0);
};

const place = (index: number): string => String(index).padStart(7, '0');

const placedIn = (direction: Direction, places: readonly string[]): Shard => {
  const sorted = [...places].sort();
  return (direction === 'ascending' ? sorted : sorted.reverse()).map((one) => ({ place: one, item: one }));
};

/** The whole listing, page by page: each page starts after the position where the last one ended. */
const walk = async (
  shards: readonly Shard[],
  direction: Direction,
  limit: number,
  isWanted?: (item: string) => boolean,
) => {
  const found: string[] = [];
  const pages: number[] = [];
  let after: string | undefined;
  do {
    const isLeft = ({ place: one }: PlacedItem<string>) =>
      after === undefined || (direction === 'ascending' ? one > after : one < after);
    const parts = shards.map((shard) => partOf(shard.filter(isLeft), { count: 0, passed: 0 }, isWanted));
    const page = await mergedPage(parts, direction, limit);
    found.push(...page.found.map(({ item }) => item));
    pages.push(page.found.length);
    after = page.readTo;
  } while (after !== undefined);
  return { found, pages };
};

const spread = (count: number, over: number): Shard[] => {
  const places = Array.from({ length: count }, (_, index) => place(index));
  return Array.from({ length: over }, (_, shard) =>
    // Unevenly, as with a hash.
    placedIn(
      'descending',
      places.filter((_, index) => ((index * 7919) % 104_729) % over === shard),
    ),
  );
};

describe('a page merged from shards', () => {
  it('takes one or two reads of each of eight shards with a hundred thousand entries', async () => {
    const reads = { count: 0, passed: 0 };
    const shards = spread(100_000, 8);
    const parts = shards.map((shard) => partOf(shard, reads));
    const { found, readTo } = await mergedPage(parts, 'descending', 100);
    expect(found.map(({ place: one }) => one)).toEqual(
      Array.from({ length: 100 }, (_, index) => place(99_999 - index)),
    );
    expect(readTo).toBe(place(99_900));
    expect(reads.count).toBeLessThanOrEqual(16);
    expect(reads.passed).toBeLessThanOrEqual(1_000);
  });

  it('reads further only where necessary if all entries are in one shard', async () => {
    const reads = Array.from({ length: 8 }, () => ({ count: 0, passed: 0 }));
    const places = Array.from({ length: 5_000 }, (_, index) => place(index));
    const parts = reads.map((count, shard) =>
      partOf(placedIn('ascending', shard === 3 ? places : []), count),
    );
    const { found } = await mergedPage(parts, 'ascending', 100);
    expect(found.map(({ place: one }) => one)).toEqual(places.slice(0, 100));
    expect(reads.map(({ count }) => count)).toEqual([1, 1, 1, 2, 1, 1, 1, 1]);
  });

  it('limits its reads if a filter drops everything, and returns the position reached', async () => {
    const reads = { count: 0, passed: 0 };
    const parts = spread(100_000, 8).map((shard) => partOf(shard, reads, () => false));
    const { found, readTo } = await mergedPage(parts, 'descending', 100);
    expect(found).toEqual([]);
    expect(readTo).toBeDefined();
    expect(reads.count).toBe(8 * 3);
    expect(reads.passed).toBeLessThanOrEqual(8 * 1_000);
  });

  it('finds the one match among fifty thousand after some empty pages', async () => {
    const { found, pages } = await walk(spread(50_000, 8), 'descending', 10, (item) => item === place(17));
    expect(found).toEqual([place(17)]);
    expect(pages.length).toBeLessThanOrEqual(12);
  });

  it('returns each entry once and in order for any shards, limit and filter', async () => {
    const listing = fc.record({
      numbers: fc.uniqueArray(fc.nat({ max: 9_999 }), { maxLength: 200 }),
      count: fc.integer({ min: 1, max: 8 }),
      limit: fc.integer({ min: 1, max: 30 }),
      direction: fc.constantFrom<Direction[]>('ascending', 'descending'),
      every: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(listing, async ({ numbers, count, limit, direction, every }) => {
        const shards = Array.from({ length: count }, (_, shard) =>
          placedIn(direction, numbers.filter((_one, index) => (index * index) % count === shard).map(place)),
        );
        const wanted = (item: string) => Number(item) % every === 0;
        const { found, pages } = await walk(shards, direction, limit, wanted);
        const all = shards.flat().map(({ item }) => item);
        expect(found).toEqual(placedIn(direction, all.filter(wanted)).map(({ item }) => item));
        expect(Math.max(...pages)).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 300 },
    );
  });
});
