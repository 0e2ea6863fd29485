import fc from 'fast-check';
import type { Attempt, AttemptResult, Wait } from '../../shared/domain/delivery/attempt.ts';
import {
  type Chunk,
  type ChunkTransition,
  claimChunk,
  dissolveChunk,
  type FirstSuccess,
  recordSuccesses,
  removeMember,
  removeMemberBeforeClaim,
} from '../../shared/domain/delivery/chunk.ts';
import type {
  ChunkKey,
  Delivery,
  DeliveryChange,
  DeliveryKey,
  Lease,
  NextAttempt,
  PendingStep,
  Recorded,
} from '../../shared/domain/delivery/delivery.ts';
import {
  ATTEMPT_TRIGGERS,
  CANCEL_REASONS,
  MECHANISMS,
  OPEN_STATUSES,
  WAIT_REASONS,
} from '../../shared/domain/delivery/vocabulary.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';
import {
  BACKOFF_FUNCTIONS,
  CONNECTION_FAULTS,
  JITTERS,
  OUTCOMES,
  PHASES,
  REJECT_REASONS,
} from '../../shared/domain/retry/vocabulary.ts';
import type { Slot } from '../../shared/domain/subscription/rate-limit.ts';
import { RETENTION_MS } from './chunk-builders.ts';
import { SOME_TIME } from './delivery-builders.ts';

/** Objects as literals make them, which `toEqual` compares with records that were read. */
const plain = <Of>(model: { [Name in keyof Of]: fc.Arbitrary<Of[Name]> }): fc.Arbitrary<Of> =>
  fc.record(model, { noNullPrototype: true });

const time = fc.integer({ min: 0, max: 9_999_999_999_999 });
const count = fc.nat({ max: 1000 });
const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);

const phase = fc.constantFrom(...PHASES);

const arbitraryKey: fc.Arbitrary<DeliveryKey> = plain({
  queue: fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/),
  messageId: id,
  subscriptionId: id,
  bucket: fc.nat({ max: 400 }),
});

const arbitraryResult: fc.Arbitrary<AttemptResult> = fc.oneof(
  fc.record(
    { kind: fc.constant('answered' as const), statusCode: fc.integer({ min: 100, max: 999 }), snippet: text },
    { noNullPrototype: true, requiredKeys: ['kind', 'statusCode'] },
  ),
  fc.record(
    { kind: fc.constant('unanswered' as const), error: fc.constantFrom(...CONNECTION_FAULTS), detail: text },
    { noNullPrototype: true, requiredKeys: ['kind', 'error'] },
  ),
  fc.record(
    { kind: fc.constant('refused' as const), detail: text },
    { noNullPrototype: true, requiredKeys: ['kind'] },
  ),
  fc.constantFrom({ kind: 'forbidden' }, { kind: 'acknowledged' }, { kind: 'lapsed' }),
);

const waited: fc.Arbitrary<Wait[]> = fc.uniqueArray(
  plain({ reason: fc.constantFrom(...WAIT_REASONS), ms: time }),
  { minLength: 1, maxLength: 3, selector: ({ reason }) => reason },
);

const arbitraryAttempt: fc.Arbitrary<Attempt> = fc.record(
  {
    number: fc.integer({ min: 1, max: 1000 }),
    round: fc.integer({ min: 1, max: 9 }),
    phase,
    by: fc.constantFrom(...ATTEMPT_TRIGGERS),
    dueAt: time,
    waited,
    startedAt: time,
    durationMs: fc.nat({ max: 600_000 }).map((eighths) => eighths / 8),
    outcome: fc.constantFrom(...OUTCOMES),
    result: arbitraryResult,
    lost: count,
  },
  {
    noNullPrototype: true,
    requiredKeys: ['number', 'round', 'phase', 'startedAt', 'durationMs', 'outcome', 'result'],
  },
);

const policy: fc.Arbitrary<RetryPolicy> = plain({
  retries_with_no_delay: count,
  minimum_delay_retries: count,
  minimum_delay: count,
  maximum_delay: count,
  maximum_delay_retries: count,
  retry_backoff_function: fc.constantFrom(...BACKOFF_FUNCTIONS),
  ignore_subscription_override: fc.boolean(),
  backoff_retries: count,
  backoff_exponent: fc.double({ min: 1.001, max: 100, noNaN: true }),
  jitter: fc.constantFrom(...JITTERS),
  retry_on_status: fc.array(fc.integer({ min: 300, max: 499 }), { maxLength: 5 }),
});

const lease: fc.Arbitrary<Lease> = fc.record(
  { owner: text, until: time, receivedAt: time },
  { noNullPrototype: true, requiredKeys: ['owner', 'until'] },
);
const next: fc.Arbitrary<NextAttempt> = fc.record(
  { number: count, phase, dueAt: time, by: fc.constantFrom(...MECHANISMS), waited, waitingSince: time },
  { noNullPrototype: true, requiredKeys: ['number', 'phase', 'dueAt', 'by'] },
);
const slot: fc.Arbitrary<Slot> = fc.record(
  { at: time, epoch: text, from: time },
  { noNullPrototype: true, requiredKeys: ['at'] },
);
/** `version` is stored with the last attempt, so a delivery without attempts has none. */
const arbitrarySteps = (
  reason: 'gone' | 'disable_requested',
  version: number | undefined,
): fc.Arbitrary<PendingStep[]> =>
  fc.uniqueArray(
    fc.constantFrom<PendingStep>(
      { kind: 'undeliverable' },
      { kind: 'exhausted_event' },
      { kind: 'disable_subscription', reason, ...(version === undefined ? {} : { version }) },
    ),
    { selector: ({ kind }) => kind },
  );

const recordedFields = {
  key: arbitraryKey,
  acceptedAt: time,
  round: fc.integer({ min: 1, max: 9 }),
  attempts: fc.array(arbitraryAttempt, { maxLength: 30 }),
  lateResults: fc.array(arbitraryAttempt, { maxLength: 3 }),
  lost: count,
  policy,
  lease,
  recoveries: fc.array(text, { maxLength: 3 }),
  overdueAt: time,
  updatedAt: time,
  expiresAt: time,
  retentionDays: fc.constantFrom(15, 22.5, 90),
};

const arbitraryRecorded: fc.Arbitrary<Recorded> = fc.record(recordedFields, {
  noNullPrototype: true,
  requiredKeys: [
    'key',
    'acceptedAt',
    'round',
    'attempts',
    'lateResults',
    'lost',
    'recoveries',
    'updatedAt',
    'expiresAt',
  ],
});

const arbitraryEnd = fc.oneof(
  fc.constant({ status: 'delivered' as const }),
  fc.record({
    status: fc.constant('rejected' as const),
    reason: fc.constantFrom(...REJECT_REASONS, 'http_404' as const, 'unknown' as const),
  }),
  fc.constant({ status: 'exhausted' as const, reason: 'retries_exhausted' as const }),
  fc.record({ status: fc.constant('cancelled' as const), reason: fc.constantFrom(...CANCEL_REASONS) }),
);

const arbitraryOpening = fc.record(
  { status: fc.constantFrom(...OPEN_STATUSES), next, slot },
  { noNullPrototype: true, requiredKeys: ['status', 'next'] },
);

export const arbitraryDelivery: fc.Arbitrary<Delivery> = fc
  .tuple(arbitraryRecorded, fc.oneof(arbitraryOpening, arbitraryEnd), fc.boolean(), time)
  .chain(([recorded, state, isFirst, ofSubscription]): fc.Arbitrary<Delivery> => {
    if ('next' in state)
      return fc.constant(
        state.status === 'pending' && isFirst
          ? { ...recorded, status: state.status, pendingSteps: [] }
          : { ...recorded, ...state, pendingSteps: [] },
      );
    const reason = 'reason' in state && state.reason === 'gone' ? 'gone' : 'disable_requested';
    const version = recorded.attempts.length === 0 ? undefined : ofSubscription;
    return arbitrarySteps(reason, version).map((pendingSteps) => ({ ...recorded, ...state, pendingSteps }));
  });

const changedFields = {
  round: fc.integer({ min: 1, max: 9 }),
  lost: fc.nat({ max: 3 }),
  policy: fc.option(policy),
  recoveries: fc.array(text, { maxLength: 3 }),
  lease: fc.option(lease),
  overdueAt: fc.option(time),
  appendAttempt: arbitraryAttempt,
  appendLateResult: arbitraryAttempt,
  updatedAt: time,
  expiresAt: time,
};

/** Every field that a write can change: left out, set, or removed. */
export const arbitraryChange: fc.Arbitrary<DeliveryChange> = fc
  .tuple(
    fc.record(changedFields, { noNullPrototype: true, requiredKeys: ['updatedAt', 'expiresAt'] }),
    fc.oneof(fc.constant({}), arbitraryOpening, arbitraryEnd),
  )
  .map(([{ appendAttempt, ...changed }, state]) =>
    // An attempt is recorded with the status that follows.
    'status' in state && appendAttempt !== undefined
      ? { ...changed, ...state, appendAttempt }
      : { ...changed, ...state },
  );

/** Unusual subscription ids: a leading `-` or `_`, digits only, words reserved by DynamoDB. */
const IDS = ['a', '-b', '_c', '0', '12', '9d-_', 'status', 'members', 'b6e1e5b2-3b66-4a43-9f2b-0a8c9a1d7e55'];

const memberId = fc.constantFrom(...IDS);

export const arbitrarySuccess: fc.Arbitrary<FirstSuccess> = plain({
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
});

const chunkLease: fc.Arbitrary<Lease> = plain({
  owner: fc.constantFrom('me', 'you'),
  until: fc.constantFrom(SOME_TIME, SOME_TIME + 1),
});

/**
 * One write to a chunk. If it `fits`, it matches the chunk's actual state; otherwise a wrong assumption about it.
 */
type ChunkStep = {
  kind: 'claim' | 'record' | 'break_up' | 'take_out' | 'take_out_early';
  fits: boolean;
  ids: readonly string[];
  others: readonly string[];
  lease: Lease;
  success: FirstSuccess;
  acceptedAt: number;
  ends: boolean;
};

export const arbitraryStep: fc.Arbitrary<ChunkStep> = plain({
  kind: fc.constantFrom<ChunkStep['kind'][]>('claim', 'record', 'break_up', 'take_out', 'take_out_early'),
  fits: fc.boolean(),
  ids: fc.uniqueArray(memberId, { minLength: 1, maxLength: 5 }),
  others: fc.uniqueArray(memberId, { maxLength: 2 }),
  lease: chunkLease,
  success: arbitrarySuccess,
  acceptedAt: time,
  ends: fc.boolean(),
});

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
