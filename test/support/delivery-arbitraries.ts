import fc from 'fast-check';
import { BACKOFF_FUNCTIONS, JITTERS, OUTCOMES, PHASES } from '../../shared/domain/retry/vocabulary.ts';
import {
  ATTEMPT_TRIGGERS,
  MECHANISMS,
  PENDING_STEPS,
  type PendingStep,
  STATUSES,
} from '../../shared/domain/delivery/vocabulary.ts';
import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import type {
  DeliveryChange,
  Delivery,
  DeliveryKey,
  Lease,
  NextAttempt,
} from '../../shared/domain/delivery/delivery.ts';
import type { Slot } from '../../shared/domain/subscription/rate-limit.ts';
import type { RetryPolicy } from '../../shared/domain/retry/policy.ts';

const time = fc.integer({ min: 0, max: 9_999_999_999_999 });
const count = fc.nat({ max: 1000 });
const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const id = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);

const phase = fc.constantFrom(...PHASES);

const arbitraryKey: fc.Arbitrary<DeliveryKey> = fc.record(
  {
    queue: fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/),
    messageId: id,
    subscriptionId: id,
    bucket: fc.nat({ max: 400 }),
  },
  { noNullPrototype: true },
);

const arbitraryAttempt: fc.Arbitrary<Attempt> = fc.record(
  {
    number: fc.integer({ min: 1, max: 1000 }),
    round: fc.integer({ min: 1, max: 9 }),
    phase,
    by: fc.constantFrom(...ATTEMPT_TRIGGERS),
    dueAt: time,
    startedAt: time,
    durationMs: fc.nat({ max: 600_000 }).map((eighths) => eighths / 8),
    outcome: fc.constantFrom(...OUTCOMES),
    statusCode: fc.integer({ min: 100, max: 999 }),
    error: text,
    snippet: text,
    lost: count,
    subscriptionChangedAt: time,
  },
  { noNullPrototype: true, requiredKeys: ['number', 'round', 'phase', 'startedAt', 'durationMs', 'outcome'] },
);

const policy: fc.Arbitrary<RetryPolicy> = fc.record(
  {
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
  },
  { noNullPrototype: true },
);

const lease: fc.Arbitrary<Lease> = fc.record(
  { owner: text, until: time, receivedAt: time },
  { noNullPrototype: true, requiredKeys: ['owner', 'until'] },
);
const next: fc.Arbitrary<NextAttempt> = fc.record(
  {
    number: count,
    phase,
    dueAt: time,
    by: fc.constantFrom(...MECHANISMS),
  },
  { noNullPrototype: true },
);
const slot: fc.Arbitrary<Slot> = fc.record(
  { at: time, epoch: text, from: time },
  { noNullPrototype: true, requiredKeys: ['at'] },
);
const owed: fc.Arbitrary<PendingStep[]> = fc.uniqueArray(fc.constantFrom(...PENDING_STEPS));
const status = fc.constantFrom(...STATUSES);

export const arbitraryDelivery: fc.Arbitrary<Delivery> = fc.record(
  {
    key: arbitraryKey,
    acceptedAt: time,
    status,
    reason: text,
    round: fc.integer({ min: 1, max: 9 }),
    attempts: fc.array(arbitraryAttempt, { maxLength: 30 }),
    lateResults: fc.array(arbitraryAttempt, { maxLength: 3 }),
    lost: count,
    next,
    slot,
    policy,
    lease,
    owed,
    recoveries: fc.array(text, { maxLength: 3 }),
    overdueAt: time,
    updatedAt: time,
    expiresAt: time,
    retentionDays: fc.constantFrom(15, 22.5, 90),
  },
  {
    noNullPrototype: true,
    requiredKeys: [
      'key',
      'acceptedAt',
      'status',
      'round',
      'attempts',
      'lateResults',
      'lost',
      'owed',
      'recoveries',
      'updatedAt',
      'expiresAt',
    ],
  },
);

/** Every field that a write can change: left out, set, or removed. */
export const arbitraryChange: fc.Arbitrary<DeliveryChange> = fc.record(
  {
    status,
    reason: fc.option(text),
    round: fc.integer({ min: 1, max: 9 }),
    lost: fc.nat({ max: 3 }),
    next: fc.option(next),
    slot: fc.option(slot),
    policy: fc.option(policy),
    recoveries: fc.array(text, { maxLength: 3 }),
    lease: fc.option(lease),
    owed,
    overdueAt: fc.option(time),
    appendAttempt: arbitraryAttempt,
    appendLateResult: arbitraryAttempt,
    updatedAt: time,
    expiresAt: time,
  },
  { noNullPrototype: true, requiredKeys: ['updatedAt', 'expiresAt'] },
);
