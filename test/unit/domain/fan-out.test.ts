import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bucketOf, bucketsFor, chunkOf, chunksFor } from '../../../shared/domain/delivery/fan-out.ts';

const ids = (count: number): string[] => Array.from({ length: count }, (_, index) => `subscription-${index}`);

const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);

/** Number of `places` that fall on each of `among` positions. */
const counted = (places: readonly number[], among: number): number[] =>
  Array.from({ length: among }, (_, place) => places.filter((one) => one === place).length);

describe('the bucket count of a fan-out', () => {
  it.each([
    [0, 1],
    [1, 1],
    [250, 1],
    [251, 2],
    [500, 2],
    [501, 3],
    [10_000, 40],
  ])('for %i subscriptions is %i', (matched, buckets) => {
    expect(bucketsFor(matched)).toBe(buckets);
  });

  it('spreads subscriptions about evenly', () => {
    const places = ids(10_000).map((one) => bucketOf(one, 40));
    const shares = counted(places, 40);
    expect(Math.min(...shares)).toBeGreaterThan(150);
    expect(Math.max(...shares)).toBeLessThan(350);
  });
});

describe('the chunk count of a bucket', () => {
  it.each([
    { deliveries: 2, buckets: 1, perChunk: 10, chunks: 1 },
    { deliveries: 10, buckets: 1, perChunk: 10, chunks: 1 },
    { deliveries: 11, buckets: 1, perChunk: 10, chunks: 2 },
    { deliveries: 250, buckets: 1, perChunk: 25, chunks: 10 },
    { deliveries: 251, buckets: 2, perChunk: 10, chunks: 13 },
    { deliveries: 3, buckets: 1, perChunk: 2, chunks: 2 },
  ])('is $chunks for $deliveries deliveries in $buckets buckets with $perChunk per chunk', (one) => {
    expect(chunksFor(one.deliveries, one.buckets, one.perChunk)).toBe(one.chunks);
  });

  it.each([
    ['no subscriptions', 0, 10],
    ['one subscription', 1, 10],
    ['a setting of one delivery per chunk', 100, 1],
  ])('is undefined for %s', (_, deliveries, perChunk) => {
    expect(chunksFor(deliveries, bucketsFor(deliveries), perChunk)).toBeUndefined();
  });

  it('is the smallest that keeps the average chunk within the limit', () => {
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

  it('spreads the deliveries of a bucket about evenly over its chunks', () => {
    const shares = counted(
      ids(2_500).map((one) => chunkOf(one, 25)),
      25,
    );
    expect(Math.min(...shares)).toBeGreaterThan(60);
    expect(Math.max(...shares)).toBeLessThan(150);
  });

  it.each([2, 4, 6])(
    'spreads deliveries evenly over %i buckets with the same number of chunks each',
    (count) => {
      const shares = counted(
        ids(count * count * 100).map((one) => bucketOf(one, count) * count + chunkOf(one, count)),
        count * count,
      );
      expect(Math.min(...shares)).toBeGreaterThan(60);
      expect(Math.max(...shares)).toBeLessThan(150);
    },
  );
});

describe('the bucket and chunk of a subscription', () => {
  it('are within range and always the same', () => {
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

  it('are the same as in earlier releases, because stored records depend on them', () => {
    const known = ['0c', 'b6e1e5b2-3b66-4a43-9f2b-0a8c9a1d7e55', '_x-'];
    expect(known.map((one) => [bucketOf(one, 40), chunkOf(one, 25)])).toEqual([
      [11, 16],
      [37, 2],
      [27, 13],
    ]);
  });
});
