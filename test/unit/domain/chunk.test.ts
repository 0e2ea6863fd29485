import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyToChunk,
  type Chunk,
  chunkHolds,
  type ChunkTransition,
  claimChunk,
  deliveryIn,
  dissolveChunk,
  pendingIn,
  recordSuccesses,
  removeMember,
  removeMemberBeforeClaim,
  separateMembers,
} from '../../../shared/domain/delivery/chunk.ts';
import { bucketOf, bucketsFor, chunkOf, chunksFor } from '../../../shared/domain/delivery/fan-out.ts';
import { aChunk, aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { aDelivery, SOME_TIME } from '../../support/delivery-builders.ts';

const key = aChunkKey();
const at = { now: SOME_TIME + 200, retentionMs: RETENTION_MS };
const claim = (members: readonly string[] = ['a', 'b']): ChunkTransition =>
  claimChunk(key, { acceptedAt: SOME_TIME, members, lease: HOLDER }, at);

/** The chunk after these writes; each condition must hold. */
const after = (...transitions: readonly ChunkTransition[]): Chunk => {
  let chunk: Chunk | undefined;
  for (const transition of transitions) {
    expect(chunkHolds(transition.expect, chunk)).toBe(true);
    chunk = applyToChunk(transition, chunk);
  }
  if (chunk === undefined) throw new RangeError('nothing was written');
  return chunk;
};

const success = aFirstSuccess();
const recorded = (ids: readonly string[], separate: readonly string[] = [], ends = false): ChunkTransition =>
  recordSuccesses(
    key,
    HOLDER.owner,
    { successes: new Map(ids.map((id) => [id, success])), separate, ends },
    { ...at, now: at.now + 100 },
  );
const removed = (id: string, state: Parameters<typeof removeMember>[2] = 'pending') =>
  removeMember(key, id, state, aDelivery());

describe('a chunk', () => {
  it('is claimed once, which fixes its members', () => {
    const chunk = after(claim());
    expect(chunk).toEqual({
      key,
      acceptedAt: SOME_TIME,
      members: new Map([
        ['a', 'pending'],
        ['b', 'pending'],
      ]),
      excluded: new Set(),
      lease: HOLDER,
      updatedAt: at.now,
      expiresAt: at.now + RETENTION_MS,
    });
    expect(chunkHolds(claim(['a', 'b', 'c']).expect, chunk)).toBe(false);
  });

  it('is not claimed again after its lease was ended', () => {
    expect(chunkHolds(claim().expect, after(claim(), dissolveChunk(key, HOLDER, at)))).toBe(false);
  });

  it('records successes and which members have separate records', () => {
    const chunk = after(claim(['a', 'b', 'c']), recorded(['b'], ['c']));
    expect([...(chunk.members ?? [])]).toEqual([
      ['a', 'pending'],
      ['b', success],
      ['c', 'separate'],
    ]);
    expect(chunk).toMatchObject({ lease: HOLDER, updatedAt: at.now + 100 });
    expect(pendingIn(chunk)).toEqual(['a']);
    expect(separateMembers(chunk)).toEqual(['c']);
  });

  it('has no lease after the last result is recorded', () => {
    const chunk = after(claim(), recorded(['a']), recorded(['b'], [], true));
    expect(chunk.lease).toBeUndefined();
    expect(pendingIn(chunk)).toEqual([]);
  });

  it.each([
    [
      'under the lease of another owner',
      () =>
        after(
          claimChunk(key, { acceptedAt: 1, members: ['a', 'b'], lease: { ...HOLDER, owner: 'other' } }, at),
        ),
    ],
    ['after its lease was ended', () => after(claim(), dissolveChunk(key, HOLDER, at))],
    ['of a member that is already recorded', () => after(claim(), recorded(['a']))],
    ['of a member with a separate record', () => after(claim(), removed('a'))],
    ['of a subscription that is not a member', () => after(claim(['b']))],
    ['before it is claimed', () => undefined],
  ])('records no success %s', (_, chunk) => {
    expect(chunkHolds(recorded(['a']).expect, chunk())).toBe(false);
  });

  it('records all successes of a write or none', () => {
    expect(chunkHolds(recorded(['a', 'b']).expect, after(claim(), removed('a')))).toBe(false);
    expect(chunkHolds(recorded(['b']).expect, after(claim(), removed('a')))).toBe(true);
  });

  it('ends only the lease that was read', () => {
    const chunk = after(claim());
    expect(chunkHolds(dissolveChunk(key, HOLDER, at).expect, chunk)).toBe(true);
    for (const other of [
      { ...HOLDER, owner: 'other' },
      { ...HOLDER, until: HOLDER.until + 1 },
    ])
      expect(chunkHolds(dissolveChunk(key, other, at).expect, chunk)).toBe(false);
    expect(after(claim(), dissolveChunk(key, HOLDER, at)).lease).toBeUndefined();
  });

  it('keeps the latest expiry of its writes', () => {
    const chunk = after(claim(), removeMember(key, 'a', 'pending', aDelivery({ expiresAt: 5 })));
    expect(chunk.expiresAt).toBe(at.now + RETENTION_MS);
    const longer = removeMember(key, 'b', 'pending', aDelivery({ expiresAt: chunk.expiresAt + 7 }));
    expect(applyToChunk(longer, chunk).expiresAt).toBe(chunk.expiresAt + 7);
  });
});

describe('removing a member from a chunk', () => {
  it('marks a pending member as having a separate record', () => {
    const chunk = after(claim(), removed('a'));
    expect(chunk.members?.get('a')).toBe('separate');
    expect(pendingIn(chunk)).toEqual(['b']);
    expect(chunkHolds(removed('a').expect, chunk)).toBe(false);
  });

  it('requires exactly the success that was read', () => {
    const chunk = after(claim(), recorded(['a']));
    expect(chunkHolds(removed('a', success).expect, chunk)).toBe(true);
    expect(chunkHolds(removed('a', aFirstSuccess({ startedAt: success.startedAt + 1 })).expect, chunk)).toBe(
      false,
    );
    expect(chunkHolds(removed('a').expect, chunk)).toBe(false);
  });

  it('is refused for a different state or a subscription that is not a member', () => {
    const chunk = after(claim());
    expect(chunkHolds(removed('a', success).expect, chunk)).toBe(false);
    expect(chunkHolds(removed('z').expect, chunk)).toBe(false);
    expect(chunkHolds(removed('z', success).expect, undefined)).toBe(false);
  });

  it('before the claim keeps the subscription out, even if the claim names it', () => {
    const early = removeMemberBeforeClaim(key, 'a', aDelivery());
    const chunk = after(early, removeMemberBeforeClaim(key, 'z', aDelivery()), claim());
    expect(pendingIn(chunk)).toEqual(['b']);
    expect(separateMembers(chunk)).toEqual(['a']);
    expect(deliveryIn(chunk, 'a')).toBeUndefined();
    expect(chunkHolds(early.expect, chunk)).toBe(false);
  });
});

describe('a delivery in its chunk', () => {
  const place = { queue: key.queue, messageId: key.messageId, bucket: key.bucket };

  it('is pending under the lease of the chunk', () => {
    expect(deliveryIn(after(claim()), 'a')).toEqual(
      aDelivery({
        key: { ...place, subscriptionId: 'a' },
        lease: HOLDER,
        updatedAt: at.now,
        expiresAt: at.now + RETENTION_MS,
      }),
    );
  });

  it('counts one lost request if the lease was ended', () => {
    const delivery = deliveryIn(after(claim(), dissolveChunk(key, HOLDER, at)), 'a');
    expect(delivery).toMatchObject({ status: 'pending', lost: 1, attempts: [] });
    expect(delivery?.lease).toBeUndefined();
  });

  it('is delivered by its recorded first attempt, with or without a lease on the chunk', () => {
    const attempt = { number: 1, round: 1, phase: 'initial', outcome: 'delivered', ...success };
    for (const chunk of [
      after(claim(), recorded(['a'])),
      after(claim(), recorded(['a']), dissolveChunk(key, HOLDER, at)),
    ]) {
      const delivery = deliveryIn(chunk, 'a');
      expect(delivery).toMatchObject({ status: 'delivered', attempts: [attempt], lost: 0 });
      expect(delivery?.lease).toBeUndefined();
    }
  });

  it('is undefined with a separate record, without membership, or before the chunk is claimed', () => {
    expect(deliveryIn(after(claim(), removed('a')), 'a')).toBeUndefined();
    expect(deliveryIn(after(claim()), 'z')).toBeUndefined();
    expect(deliveryIn(after(removeMemberBeforeClaim(key, 'a', aDelivery())), 'b')).toBeUndefined();
    expect(deliveryIn(aChunk({ excluded: new Set(['a']) }), 'a')).toBeUndefined();
  });
});

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
