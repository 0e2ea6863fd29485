import { STATUSES, TERMINAL_STATUSES } from '../../shared/domain/delivery/vocabulary.ts';
import type { DeliveryChange, Delivery, Expectation } from '../../shared/domain/delivery/delivery.ts';
import { DEFAULT_RETRY_POLICY } from '../../shared/domain/retry/policy.ts';
import { anAttempt, SOME_TIME } from '../support/delivery-builders.ts';

type ExpectationCase = {
  title: string;
  expectation: Exclude<Expectation, { kind: 'absent' }>;
  /** A record for which the expectation holds. */
  record: Partial<Delivery>;
  /** Changes of that record after which it does not hold. */
  refused: readonly { but: string; instead: Partial<Delivery> }[];
};

const lease = { owner: 'me', until: SOME_TIME };
const next = { number: 2, phase: 'immediate', dueAt: SOME_TIME, by: 'sqs_delay' } as const;
const terminal = TERMINAL_STATUSES.map((status) => ({
  but: `that is ${status}`,
  instead: { status },
}));
const otherCounts = [
  { but: 'with fewer attempts', instead: { attempts: [] } },
  { but: 'with more attempts', instead: { attempts: [anAttempt(), anAttempt({ number: 2 })] } },
];
const otherLeases = [
  { but: 'without a lease', instead: { lease: undefined } },
  { but: 'leased to another owner', instead: { lease: { ...lease, owner: 'you' } } },
];

export const expectationCases: readonly ExpectationCase[] = [
  {
    title: 'a due attempt without a lease',
    expectation: { kind: 'claimable', recorded: 1, now: SOME_TIME },
    record: { status: 'retrying', attempts: [anAttempt()], next },
    refused: [
      ...terminal,
      ...otherCounts,
      { but: 'that is leased', instead: { lease } },
      { but: 'with an expired lease', instead: { lease: { owner: 'you', until: 0 } } },
      { but: 'due a millisecond later', instead: { next: { ...next, dueAt: SOME_TIME + 1 } } },
    ],
  },
  {
    title: 'a first attempt without a due time and without a lease',
    expectation: { kind: 'claimable', recorded: 0, now: SOME_TIME },
    record: { status: 'pending' },
    refused: [...terminal, { but: 'with an attempt', instead: { attempts: [anAttempt()] } }],
  },
  {
    title: 'the expired lease that was read',
    expectation: { kind: 'lease_expired', recorded: 1, lease },
    record: { status: 'retrying', attempts: [anAttempt()], lease },
    refused: [
      ...terminal,
      ...otherCounts,
      ...otherLeases,
      { but: 'with a renewed lease', instead: { lease: { ...lease, until: SOME_TIME + 1 } } },
    ],
  },
  {
    title: 'a lease of the same owner',
    expectation: { kind: 'leased', recorded: 1, owner: 'me' },
    record: { status: 'retrying', attempts: [anAttempt()], lease },
    refused: [...terminal, ...otherCounts, ...otherLeases],
  },
  {
    title: 'an open record without a lease to be unchanged since it was read',
    expectation: { kind: 'as_read', recorded: 1, lease: undefined, dueAt: SOME_TIME },
    record: { status: 'retrying', attempts: [anAttempt()], next },
    refused: [
      ...terminal,
      ...otherCounts,
      { but: 'that has been leased since', instead: { lease } },
      { but: 'with another due time', instead: { next: { ...next, dueAt: SOME_TIME + 1 } } },
      { but: 'without a due time', instead: { next: undefined } },
    ],
  },
  {
    title: 'an open record with a lease to be unchanged since it was read',
    expectation: { kind: 'as_read', recorded: 0, lease, dueAt: undefined },
    record: { status: 'pending', lease },
    refused: [
      ...terminal,
      ...otherLeases,
      { but: 'with an attempt', instead: { attempts: [anAttempt()] } },
      { but: 'with a renewed lease', instead: { lease: { ...lease, until: SOME_TIME + 1 } } },
      { but: 'with a due time', instead: { next } },
    ],
  },
  ...[1, 3].map((round): ExpectationCase => ({
    title: `the record to have ended in round ${round}`,
    expectation: { kind: 'over', status: 'exhausted', recorded: 1, round },
    record: { status: 'exhausted', attempts: [anAttempt()], round },
    refused: [
      ...otherCounts,
      { but: 'that is open again', instead: { status: 'retrying' } },
      { but: 'delivered by a late success', instead: { status: 'delivered' } },
      { but: 'in another round', instead: { round: round + 1 } },
      { but: 'with pending steps', instead: { owed: ['undeliverable'] } },
    ],
  })),
  { title: 'an existing record', expectation: { kind: 'present' }, record: {}, refused: [] },
  {
    title: 'that the delivery did not succeed',
    expectation: { kind: 'undelivered' },
    record: { status: 'cancelled' },
    refused: [{ but: 'that is delivered', instead: { status: 'delivered' } }],
  },
  {
    title: 'the pending steps that were read',
    expectation: { kind: 'owing', owed: ['undeliverable', 'disable_subscription'] },
    record: { status: 'rejected', owed: ['undeliverable', 'disable_subscription'] },
    refused: [
      { but: 'without pending steps', instead: { owed: [] } },
      { but: 'with fewer pending steps', instead: { owed: ['undeliverable'] } },
      { but: 'with reordered steps', instead: { owed: ['disable_subscription', 'undeliverable'] } },
    ],
  },
  {
    title: 'no pending steps',
    expectation: { kind: 'owing', owed: [] },
    record: { status: 'rejected' },
    refused: [{ but: 'with pending steps', instead: { owed: ['undeliverable'] } }],
  },
  {
    title: 'the overdue time that was read',
    expectation: { kind: 'overdue_at', overdueAt: SOME_TIME },
    record: { overdueAt: SOME_TIME },
    refused: [
      { but: 'with another overdue time', instead: { overdueAt: SOME_TIME + 1 } },
      { but: 'without an overdue time', instead: { overdueAt: undefined } },
    ],
  },
];

type ChangeCase = {
  title: string;
  record: Partial<Delivery>;
  change: Partial<DeliveryChange>;
  after: Partial<Delivery>;
};

const full: Partial<Delivery> = {
  status: 'retrying',
  reason: 'a reason',
  round: 2,
  attempts: [anAttempt()],
  lateResults: [anAttempt({ outcome: 'rejected', statusCode: 404 })],
  lost: 2,
  next,
  policy: DEFAULT_RETRY_POLICY,
  lease,
  slot: { at: SOME_TIME, epoch: 'e' },
  owed: ['undeliverable'],
  recoveries: ['r-1'],
  overdueAt: SOME_TIME,
};

const second = anAttempt({ number: 2, round: 2, phase: 'manual', error: 'timeout', snippet: 'ÿ', lost: 1 });
const otherPolicy = {
  ...DEFAULT_RETRY_POLICY,
  minimum_delay: 7,
  retry_on_status: [408, 429],
  backoff_exponent: 1.5,
};

export const changeCases: readonly ChangeCase[] = [
  { title: 'changes only the fields that a write names', record: full, change: {}, after: {} },
  ...STATUSES.map((status) => ({
    title: `sets the status ${status}`,
    record: full,
    change: { status },
    after: { status },
  })),
  { title: 'sets a reason', record: {}, change: { reason: 'gone' }, after: { reason: 'gone' } },
  { title: 'removes the reason', record: full, change: { reason: null }, after: { reason: undefined } },
  { title: 'sets the round', record: {}, change: { round: 3 }, after: { round: 3 } },
  { title: 'sets the round back to the first', record: full, change: { round: 1 }, after: { round: 1 } },
  { title: 'counts lost attempts', record: {}, change: { lost: 1 }, after: { lost: 1 } },
  { title: 'resets the count of lost attempts', record: full, change: { lost: 0 }, after: { lost: 0 } },
  { title: 'sets the next attempt', record: {}, change: { next }, after: { next } },
  { title: 'removes the next attempt', record: full, change: { next: null }, after: { next: undefined } },
  { title: 'sets a policy', record: {}, change: { policy: otherPolicy }, after: { policy: otherPolicy } },
  {
    title: 'replaces the policy',
    record: full,
    change: { policy: otherPolicy },
    after: { policy: otherPolicy },
  },
  { title: 'removes the policy', record: full, change: { policy: null }, after: { policy: undefined } },
  { title: 'adds a recovery', record: {}, change: { recoveries: ['r-1'] }, after: { recoveries: ['r-1'] } },
  {
    title: 'adds another recovery',
    record: full,
    change: { recoveries: ['r-1', 'r-2'] },
    after: { recoveries: ['r-1', 'r-2'] },
  },
  {
    title: 'sets a slot',
    record: {},
    change: { slot: { at: 5, epoch: 'e' } },
    after: { slot: { at: 5, epoch: 'e' } },
  },
  { title: 'removes the slot', record: full, change: { slot: null }, after: { slot: undefined } },
  { title: 'sets a lease', record: {}, change: { lease }, after: { lease } },
  { title: 'removes the lease', record: full, change: { lease: null }, after: { lease: undefined } },
  {
    title: 'sets pending steps',
    record: {},
    change: { owed: ['disable_subscription'] },
    after: { owed: ['disable_subscription'] },
  },
  { title: 'removes the pending steps', record: full, change: { owed: [] }, after: { owed: [] } },
  { title: 'sets the overdue time', record: {}, change: { overdueAt: 5 }, after: { overdueAt: 5 } },
  {
    title: 'removes the overdue time',
    record: full,
    change: { overdueAt: null },
    after: { overdueAt: undefined },
  },
  {
    title: 'appends a first attempt',
    record: {},
    change: { appendAttempt: second },
    after: { attempts: [second] },
  },
  {
    title: 'appends an attempt',
    record: full,
    change: { appendAttempt: second },
    after: { attempts: [anAttempt(), second] },
  },
  {
    title: 'appends a first late result',
    record: {},
    change: { appendLateResult: second },
    after: { lateResults: [second] },
  },
  {
    title: 'appends a late result',
    record: full,
    change: { appendLateResult: second },
    after: { lateResults: [anAttempt({ outcome: 'rejected', statusCode: 404 }), second] },
  },
  { title: 'sets the time of the update', record: full, change: { updatedAt: 7 }, after: { updatedAt: 7 } },
];
