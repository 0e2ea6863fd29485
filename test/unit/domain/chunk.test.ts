import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Attempt } from '../../../shared/domain/delivery/attempt.ts';
import {
  type Chunk,
  type ChunkTransition,
  claimChunk,
  deliveryIn,
  dissolveChunk,
  findFirstSuccess,
  MAX_SNIPPET_BYTES,
  pendingIn,
  recordSuccesses,
  removeMember,
  removeMemberBeforeClaim,
  separateMembers,
} from '../../../shared/domain/delivery/chunk.ts';
import { jobOfMember } from '../../../shared/domain/delivery/job.ts';
import { apply, type Delivery, type Transition } from '../../../shared/domain/delivery/delivery.ts';
import {
  cancelLeased,
  recordDelivered,
  recordRejected,
  recordRetry,
  release,
} from '../../../shared/domain/delivery/transitions.ts';
import { aMessage, aPolicy } from '../../support/builders.ts';
import { aChunk, aChunkKey, aFirstSuccess, HOLDER, RETENTION_MS } from '../../support/chunk-builders.ts';
import { arbitrarySuccess } from '../../support/delivery-arbitraries.ts';
import { aDelivery, anAttempt, answered, SOME_TIME } from '../../support/delivery-builders.ts';
import { applyToChunk, chunkHolds } from '../../support/in-memory/chunk-model.ts';

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

it.each([{}, { sentAt: SOME_TIME - 2 }, { dueAt: SOME_TIME + 2 }])(
  'the job of a member has the times of its chunk, and no others: %o',
  (times) => {
    const fields = {
      acceptedAt: SOME_TIME,
      retentionDays: 15,
      body: { kind: 'inline', message: aMessage() },
    } as const;
    const job = jobOfMember({ kind: 'chunk', key, subscriptionIds: ['a'], ...fields, ...times }, 'a');
    const member = { queue: key.queue, messageId: key.messageId, bucket: key.bucket, subscriptionId: 'a' };
    expect(job).toStrictEqual({ kind: 'job', key: member, attempt: 1, ...fields, ...times });
  },
);

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

describe('the first success in a chunk', () => {
  const at = { now: SOME_TIME + 500, retentionMs: RETENTION_MS };
  const chunk = aChunk();

  const pending = (): Delivery => {
    const delivery = deliveryIn(chunk, 'a');
    if (delivery === undefined) throw new RangeError('not a member');
    return delivery;
  };

  const plain = anAttempt({ outcome: 'delivered', result: answered(200) });
  const made = (attempt: Attempt) => ({ delivery: pending(), owner: HOLDER.owner, attempt });
  const recordOf = (attempt: Attempt): Transition => recordDelivered(made(attempt), at);

  const success = arbitrarySuccess.filter(
    ({ result: { snippet = '' } }) => Buffer.byteLength(snippet) <= MAX_SNIPPET_BYTES,
  );

  it('contains the fields of the attempt that its chunk stores', () => {
    expect(findFirstSuccess(recordOf({ ...plain, result: answered(200, 'ok') }))).toEqual({
      startedAt: plain.startedAt,
      durationMs: plain.durationMs,
      result: answered(200, 'ok'),
    });
  });

  it('contains the start of a long response, up to the last whole character', () => {
    const snippetOf = (snippet: string) =>
      findFirstSuccess(recordOf({ ...plain, result: answered(200, snippet) }))?.result.snippet;
    expect(snippetOf('x'.repeat(100))).toBe('x'.repeat(24));
    expect(snippetOf(`${'x'.repeat(23)}é`)).toBe('x'.repeat(23));
    expect(snippetOf('😀'.repeat(7))).toBe('😀'.repeat(6));
  });

  it('gives the same delivery as a separate record if the response is short', () => {
    fc.assert(
      fc.property(success, (one) => {
        const transition = recordOf({ number: 1, round: 1, phase: 'initial', outcome: 'delivered', ...one });
        const recorded = findFirstSuccess(transition);
        expect(recorded).toEqual(one);
        if (recorded === undefined || 'create' in transition) throw new RangeError('not recorded');
        const write = recordSuccesses(
          chunk.key,
          HOLDER.owner,
          { successes: new Map([['a', recorded]]), separate: [], ends: false },
          at,
        );
        expect(deliveryIn(applyToChunk(write, chunk), 'a')).toEqual(apply(transition.change, pending()));
      }),
    );
  });

  it.each<[string, Partial<Attempt>]>([
    ['without an answer', { result: { kind: 'acknowledged' } }],
    ['after a lost attempt', { lost: 1 }],
    ['started by a wake-up', { by: 'sqs_delay' }],
    ['of another round', { round: 2 }],
    ['with another number', { number: 2 }],
    ['in another phase', { phase: 'manual' }],
  ])('is undefined for an attempt %s', (_, more) => {
    expect(findFirstSuccess(recordOf({ ...plain, ...more }))).toBeUndefined();
  });

  it.each<[string, Transition]>([
    [
      'a failure',
      recordRetry(
        made(anAttempt()),
        {
          next: { number: 2, phase: 'immediate', dueAt: at.now, by: 'sqs_delay' },
          policy: aPolicy(),
          lease: undefined,
        },
        at,
      ),
    ],
    [
      'a rejection',
      recordRejected(
        made(anAttempt({ outcome: 'rejected', result: answered(404) })),
        { reply: { kind: 'answered', statusCode: 404 }, policy: aPolicy() },
        at,
      ),
    ],
    [
      'a success that disables its subscription',
      recordDelivered(made(plain), at, { kind: 'answered', statusCode: 200, asks: 'disable' }),
    ],
    ['a cancellation', cancelLeased(pending(), HOLDER.owner, 'disabled', at)],
    ['a release', release(pending(), HOLDER.owner, at)],
    [
      'the creation of a record',
      { name: 'open', key: aDelivery().key, expect: { kind: 'absent' }, create: aDelivery() },
    ],
  ])('is undefined for %s', (_, transition) => {
    expect(findFirstSuccess(transition)).toBeUndefined();
  });
});
