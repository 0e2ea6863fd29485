import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketOf, bucketsFor, chunkOf, chunksFor } from '../../../shared/domain/delivery/fan-out.ts';

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `subscription-${index}`);

const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);

/** How many of these fall on each of so many. */
const counted = (places: readonly number[], among: number): number[] =>
  Array.from({ length: among }, (_, place) => places.filter((one) => one === place).length);

describe('the buckets of a fan-out', () => {
  it.each([
    [0, 1],
    [1, 1],
    [250, 1],
    [251, 2],
    [500, 2],
    [501, 3],
    [10_000, 40],
  ])('of %i subscriptions are %i', (matched, buckets) => {
    expect(bucketsFor(matched)).toBe(buckets);
  });

  it('take about the same share each', () => {
    const places = ids(10_000).map((one) => bucketOf(one, 40));
    const shares = counted(places, 40);
    expect(Math.min(...shares)).toBeGreaterThan(150);
    expect(Math.max(...shares)).toBeLessThan(350);
  });
});

describe('the chunks of a bucket', () => {
  it.each([
    { deliveries: 2, buckets: 1, perChunk: 10, chunks: 1 },
    { deliveries: 10, buckets: 1, perChunk: 10, chunks: 1 },
    { deliveries: 11, buckets: 1, perChunk: 10, chunks: 2 },
    { deliveries: 250, buckets: 1, perChunk: 25, chunks: 10 },
    { deliveries: 251, buckets: 2, perChunk: 10, chunks: 13 },
    { deliveries: 3, buckets: 1, perChunk: 2, chunks: 2 },
  ])('are $chunks for $deliveries deliveries in $buckets buckets, $perChunk in each', (one) => {
    expect(chunksFor(one.deliveries, one.buckets, one.perChunk)).toBe(one.chunks);
  });

  it.each([
    ['nobody', 0, 10],
    ['one subscription', 1, 10],
    ['whoever asks for one delivery in each', 100, 1],
  ])('are none for %s', (_, deliveries, perChunk) => {
    expect(chunksFor(deliveries, bucketsFor(deliveries), perChunk)).toBeUndefined();
  });

  it('are the fewest that hold no more than were asked for, on average', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 20_000 }),
        fc.integer({ min: 2, max: 25 }),
        (deliveries, most) => {
          const buckets = bucketsFor(deliveries);
          const chunks = chunksFor(deliveries, buckets, most) ?? Number.NaN;
          expect(Number.isInteger(chunks)).toBe(true);
          expect(deliveries / buckets / chunks).toBeLessThanOrEqual(most);
          if (chunks > 1) expect(deliveries / buckets / (chunks - 1)).toBeGreaterThan(most);
        },
      ),
    );
  });

  it('take about the same share of a bucket each', () => {
    const shares = counted(
      ids(2_500).map((one) => chunkOf(one, 25)),
      25,
    );
    expect(Math.min(...shares)).toBeGreaterThan(60);
    expect(Math.max(...shares)).toBeLessThan(150);
  });

  it.each([2, 4, 6])('do so in each of %i buckets where there are as many chunks', (count) => {
    const shares = counted(
      ids(count * count * 100).map((one) => bucketOf(one, count) * count + chunkOf(one, count)),
      count * count,
    );
    expect(Math.min(...shares)).toBeGreaterThan(60);
    expect(Math.max(...shares)).toBeLessThan(150);
  });
});

describe('the place of a subscription', () => {
  it('is one of those that there are, the same whenever it is asked', () => {
    fc.assert(
      fc.property(
        id,
        fc.integer({ min: 1, max: 400 }),
        fc.integer({ min: 1, max: 125 }),
        (one, buckets, chunks) => {
          const place = [bucketOf(one, buckets), chunkOf(one, chunks)];
          expect(place.every(Number.isInteger)).toBe(true);
          expect(place[0]).toBeGreaterThanOrEqual(0);
          expect(place[0]).toBeLessThan(buckets);
          expect(place[1]).toBeGreaterThanOrEqual(0);
          expect(place[1]).toBeLessThan(chunks);
          expect([bucketOf(one, buckets), chunkOf(one, chunks)]).toEqual(place);
        },
      ),
    );
  });

  it('is what it always was, since records were written under it', () => {
    const known = ['0c', 'b6e1e5b2-3b66-4a43-9f2b-0a8c9a1d7e55', '_x-'];
    expect(known.map((one) => [bucketOf(one, 40), chunkOf(one, 25)])).toEqual([
      [11, 16],
      [37, 2],
      [27, 13],
    ]);
  });
});
