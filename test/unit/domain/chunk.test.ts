import { describe, expect, it } from 'vitest';
import {
  applyToChunk,
  chunkHolds,
  separateMembers,
  pendingIn,
  type Chunk,
  type ChunkTransition,
} from '../../../shared/domain/delivery/chunk.ts';
import {
  dissolveChunk,
  claimChunk,
  recordSuccesses,
  removeMember,
  removeMemberBeforeClaim,
} from '../../../shared/domain/delivery/chunk-changes.ts';
import { deliveryIn } from '../../../shared/domain/delivery/chunk-members.ts';
import { aChunk, aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { aDelivery, SOME_TIME } from '../../support/delivery-builders.ts';

const key = aChunkKey();
const at = { now: SOME_TIME + 200, retentionMs: RETENTION_MS };
const claim = (members: readonly string[] = ['a', 'b']): ChunkTransition =>
  claimChunk(key, { acceptedAt: SOME_TIME, members, lease: HOLDER }, at);

/** The chunk after these writes, each of which has to hold. */
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
const recorded = (ids: readonly string[], own: readonly string[] = [], ends = false): ChunkTransition =>
  recordSuccesses(
    key,
    HOLDER.owner,
    { successes: new Map(ids.map((id) => [id, success])), own, ends },
    { ...at, now: at.now + 100 },
  );
const out = (id: string, standing: Parameters<typeof removeMember>[2] = 'pending') =>
  removeMember(key, id, standing, aDelivery());

describe('a chunk', () => {
  it('is claimed once, and its members are frozen by that', () => {
    const chunk = after(claim());
    expect(chunk).toEqual({
      key,
      acceptedAt: SOME_TIME,
      members: new Map([
        ['a', 'pending'],
        ['b', 'pending'],
      ]),
      early: new Set(),
      lease: HOLDER,
      updatedAt: at.now,
      expiresAt: at.now + RETENTION_MS,
    });
    expect(chunkHolds(claim(['a', 'b', 'c']).expect, chunk)).toBe(false);
  });

  it('is not claimed again when the lease of its holder was ended', () => {
    expect(chunkHolds(claim().expect, after(claim(), dissolveChunk(key, HOLDER, at)))).toBe(false);
  });

  it('has its successes recorded as they come, and knows who has a record of its own', () => {
    const chunk = after(claim(['a', 'b', 'c']), recorded(['b'], ['c']));
    expect([...(chunk.members ?? [])]).toEqual([
      ['a', 'pending'],
      ['b', success],
      ['c', 'own'],
    ]);
    expect(chunk).toMatchObject({ lease: HOLDER, updatedAt: at.now + 100 });
    expect(pendingIn(chunk)).toEqual(['a']);
    expect(separateMembers(chunk)).toEqual(['c']);
  });

  it('has no lease any more once nothing is left to record', () => {
    const chunk = after(claim(), recorded(['a']), recorded(['b'], [], true));
    expect(chunk.lease).toBeUndefined();
    expect(pendingIn(chunk)).toEqual([]);
  });

  it.each([
    [
      'by somebody else',
      () =>
        after(
          claimChunk(key, { acceptedAt: 1, members: ['a', 'b'], lease: { ...HOLDER, owner: 'other' } }, at),
        ),
    ],
    ['after its lease was ended', () => after(claim(), dissolveChunk(key, HOLDER, at))],
    ['of one that is on record', () => after(claim(), recorded(['a']))],
    ['of one that has a record of its own', () => after(claim(), out('a'))],
    ['of one that is no member', () => after(claim(['b']))],
    ['before it is claimed', () => undefined],
  ])('records no success %s', (_, chunk) => {
    expect(chunkHolds(recorded(['a']).expect, chunk())).toBe(false);
  });

  it('records all the successes of a write or none', () => {
    expect(chunkHolds(recorded(['a', 'b']).expect, after(claim(), out('a')))).toBe(false);
    expect(chunkHolds(recorded(['b']).expect, after(claim(), out('a')))).toBe(true);
  });

  it('ends the lease that was read, and no other', () => {
    const chunk = after(claim());
    expect(chunkHolds(dissolveChunk(key, HOLDER, at).expect, chunk)).toBe(true);
    for (const other of [
      { ...HOLDER, owner: 'other' },
      { ...HOLDER, until: HOLDER.until + 1 },
    ])
      expect(chunkHolds(dissolveChunk(key, other, at).expect, chunk)).toBe(false);
    expect(after(claim(), dissolveChunk(key, HOLDER, at)).lease).toBeUndefined();
  });

  it('lives as long as the latest of its writes says', () => {
    const chunk = after(claim(), removeMember(key, 'a', 'pending', aDelivery({ expiresAt: 5 })));
    expect(chunk.expiresAt).toBe(at.now + RETENTION_MS);
    const longer = removeMember(key, 'b', 'pending', aDelivery({ expiresAt: chunk.expiresAt + 7 }));
    expect(applyToChunk(longer, chunk).expiresAt).toBe(chunk.expiresAt + 7);
  });
});

describe('a member that is taken out', () => {
  it('was pending, and is own from then on', () => {
    const chunk = after(claim(), out('a'));
    expect(chunk.members?.get('a')).toBe('own');
    expect(pendingIn(chunk)).toEqual(['b']);
    expect(chunkHolds(out('a').expect, chunk)).toBe(false);
  });

  it('had succeeded at exactly the attempt that was read', () => {
    const chunk = after(claim(), recorded(['a']));
    expect(chunkHolds(out('a', success).expect, chunk)).toBe(true);
    expect(chunkHolds(out('a', aFirstSuccess({ startedAt: success.startedAt + 1 })).expect, chunk)).toBe(
      false,
    );
    expect(chunkHolds(out('a').expect, chunk)).toBe(false);
  });

  it('is not taken for a success while it is pending, nor for anything where it is no member', () => {
    const chunk = after(claim());
    expect(chunkHolds(out('a', success).expect, chunk)).toBe(false);
    expect(chunkHolds(out('z').expect, chunk)).toBe(false);
    expect(chunkHolds(out('z', success).expect, undefined)).toBe(false);
  });

  it('before the claim is no member of it, whoever names it', () => {
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

  it('is pending under the lease of all', () => {
    expect(deliveryIn(after(claim()), 'a')).toEqual(
      aDelivery({
        key: { ...place, subscriptionId: 'a' },
        lease: HOLDER,
        updatedAt: at.now,
        expiresAt: at.now + RETENTION_MS,
      }),
    );
  });

  it('is lost once where its holder did not come back', () => {
    const delivery = deliveryIn(after(claim(), dissolveChunk(key, HOLDER, at)), 'a');
    expect(delivery).toMatchObject({ status: 'pending', lost: 1, attempts: [] });
    expect(delivery?.lease).toBeUndefined();
  });

  it('is delivered by the first attempt that is on record, whether others are at work or not', () => {
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

  it('is not told of where it has a record of its own, is no member, or nobody has claimed the chunk', () => {
    expect(deliveryIn(after(claim(), out('a')), 'a')).toBeUndefined();
    expect(deliveryIn(after(claim()), 'z')).toBeUndefined();
    expect(deliveryIn(after(removeMemberBeforeClaim(key, 'a', aDelivery())), 'b')).toBeUndefined();
    expect(deliveryIn(aChunk({ early: new Set(['a']) }), 'a')).toBeUndefined();
  });
});
