import fc from 'fast-check';
import {
  type Chunk,
  type ChunkTransition,
  type FirstSuccess,
  dissolveChunk,
  claimChunk,
  recordSuccesses,
  removeMember,
  removeMemberBeforeClaim,
} from '../../shared/domain/delivery/chunk.ts';
import type { ChunkKey, Lease } from '../../shared/domain/delivery/delivery.ts';
import { RETENTION_MS } from './chunk-builders.ts';
import { SOME_TIME } from './delivery-builders.ts';

/** Unusual subscription ids: a leading `-` or `_`, digits only, words reserved by DynamoDB. */
const IDS = ['a', '-b', '_c', '0', '12', '9d-_', 'status', 'members', 'b6e1e5b2-3b66-4a43-9f2b-0a8c9a1d7e55'];

const id = fc.constantFrom(...IDS);
const time = fc.integer({ min: 0, max: 9_999_999_999_999 });

export const arbitrarySuccess: fc.Arbitrary<FirstSuccess> = fc.record(
  {
    startedAt: fc.constantFrom(SOME_TIME, SOME_TIME + 1),
    durationMs: fc.nat({ max: 600_000 }).map((eighths) => eighths / 8),
    result: fc.record(
      {
        kind: fc.constant('answered' as const),
        statusCode: fc.integer({ min: 200, max: 299 }),
        snippet: fc.string({ unit: 'grapheme', maxLength: 40 }),
      },
      { noNullPrototype: true, requiredKeys: ['kind', 'statusCode'] },
    ),
  },
  { noNullPrototype: true },
);

const lease: fc.Arbitrary<Lease> = fc.record(
  { owner: fc.constantFrom('me', 'you'), until: fc.constantFrom(SOME_TIME, SOME_TIME + 1) },
  { noNullPrototype: true },
);

/**
 * One write to a chunk. If it `fits`, it matches the chunk's actual state; otherwise a wrong assumption about it.
 */
export type ChunkStep = {
  kind: 'claim' | 'record' | 'break_up' | 'take_out' | 'take_out_early';
  fits: boolean;
  ids: readonly string[];
  others: readonly string[];
  lease: Lease;
  success: FirstSuccess;
  acceptedAt: number;
  ends: boolean;
};

export const arbitraryStep: fc.Arbitrary<ChunkStep> = fc.record(
  {
    kind: fc.constantFrom<ChunkStep['kind'][]>('claim', 'record', 'break_up', 'take_out', 'take_out_early'),
    fits: fc.boolean(),
    ids: fc.uniqueArray(id, { minLength: 1, maxLength: 5 }),
    others: fc.uniqueArray(id, { maxLength: 2 }),
    lease,
    success: arbitrarySuccess,
    acceptedAt: time,
    ends: fc.boolean(),
  },
  { noNullPrototype: true },
);

type Believed = { key: ChunkKey; current: Chunk | undefined; now: number };

/** The transition of a step, at a time that increases with every step. */
export const transitionOf = (step: ChunkStep, believed: Believed): ChunkTransition => {
  const { key, current, now } = believed;
  const at = { now, retentionMs: RETENTION_MS };
  switch (step.kind) {
    case 'claim':
      return claimChunk(
        key,
        {
          acceptedAt: step.acceptedAt,
          members: step.ids,
          lease: step.lease,
          ...(step.ends && { retentionDays: 15 }),
        },
        at,
      );
    case 'record':
      return recordOf(step, believed);
    case 'break_up':
      return dissolveChunk(key, leaseSeen(step, current), at);
    case 'take_out':
      return removeMember(key, firstOf(step), standingSeen(step, current), timesAt(now));
    case 'take_out_early':
      return removeMemberBeforeClaim(key, firstOf(step), timesAt(now));
  }
};

/** Records at least one success; members with separate records have no success in it. */
const recordOf = (step: ChunkStep, { key, current, now }: Believed): ChunkTransition => {
  const ids = step.ids.filter((one) => !step.fits || current?.members?.get(one) === 'pending');
  const successes = new Map((ids.length === 0 ? [firstOf(step)] : ids).map((one) => [one, step.success]));
  const separate = step.others.filter((one) => !successes.has(one));
  const { owner } = leaseSeen(step, current);
  return recordSuccesses(
    key,
    owner,
    { successes, separate, ends: step.ends },
    { now, retentionMs: RETENTION_MS },
  );
};

/** The member that a take-out is about. */
export const firstOf = ({ ids: [first = 'a'] }: ChunkStep): string => first;

const leaseSeen = ({ fits, lease: other }: ChunkStep, current: Chunk | undefined): Lease =>
  fits ? (current?.lease ?? other) : other;

const standingSeen = (step: ChunkStep, current: Chunk | undefined): 'pending' | FirstSuccess => {
  const state = step.fits ? current?.members?.get(firstOf(step)) : undefined;
  if (state !== undefined && state !== 'separate') return state;
  return step.ends ? 'pending' : step.success;
};

const timesAt = (now: number) => ({ updatedAt: now, expiresAt: now + RETENTION_MS });
