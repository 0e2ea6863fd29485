import { STATUSES, TERMINAL_STATUSES } from '../../shared/domain/vocabulary.ts';
import type { DeliveryChange, Delivery, Expectation } from '../../shared/domain/delivery/delivery.ts';
import { DEFAULT_RETRY_POLICY } from '../../shared/domain/retry/policy.ts';
import { anAttempt, SOME_TIME } from '../support/delivery-builders.ts';

type ExpectationCase = {
  title: string;
  expectation: Exclude<Expectation, { kind: 'absent' }>;
  /** Of this record it holds … */
  record: Partial<Delivery>;
  /** … and of these it does not: the same record, but for what is named. */
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
  { but: 'leased to somebody else', instead: { lease: { ...lease, owner: 'you' } } },
];

export const expectationCases: readonly ExpectationCase[] = [
  {
    title: 'a due attempt that nobody makes',
    expectation: { kind: 'claimable', recorded: 1, now: SOME_TIME },
    record: { status: 'retrying', attempts: [anAttempt()], next },
    refused: [
      ...terminal,
      ...otherCounts,
      { but: 'that is leased', instead: { lease } },
      { but: 'whose lease ran out', instead: { lease: { owner: 'you', until: 0 } } },
      { but: 'that is due a millisecond later', instead: { next: { ...next, dueAt: SOME_TIME + 1 } } },
    ],
  },
  {
    title: 'a first attempt without a due time that nobody makes',
    expectation: { kind: 'claimable', recorded: 0, now: SOME_TIME },
    record: { status: 'pending' },
    refused: [...terminal, { but: 'with an attempt', instead: { attempts: [anAttempt()] } }],
  },
  {
    title: 'exactly the lease that ran out',
    expectation: { kind: 'lapsed', recorded: 1, lease },
    record: { status: 'retrying', attempts: [anAttempt()], lease },
    refused: [
      ...terminal,
      ...otherCounts,
      ...otherLeases,
      { but: 'whose lease was renewed', instead: { lease: { ...lease, until: SOME_TIME + 1 } } },
    ],
  },
  {
    title: 'its own lease',
    expectation: { kind: 'leased', recorded: 1, owner: 'me' },
    record: { status: 'retrying', attempts: [anAttempt()], lease },
    refused: [...terminal, ...otherCounts, ...otherLeases],
  },
  {
    title: 'an open record without a lease to be as it was read',
    expectation: { kind: 'as_read', recorded: 1, lease: undefined, dueAt: SOME_TIME },
    record: { status: 'retrying', attempts: [anAttempt()], next },
    refused: [
      ...terminal,
      ...otherCounts,
      { but: 'that was leased meanwhile', instead: { lease } },
      { but: 'whose due time was moved', instead: { next: { ...next, dueAt: SOME_TIME + 1 } } },
      { but: 'that has no due time any more', instead: { next: undefined } },
    ],
  },
  {
    title: 'an open record under a lease to be as it was read',
    expectation: { kind: 'as_read', recorded: 0, lease, dueAt: undefined },
    record: { status: 'pending', lease },
    refused: [
      ...terminal,
      ...otherLeases,
      { but: 'with an attempt', instead: { attempts: [anAttempt()] } },
      { but: 'whose lease was renewed', instead: { lease: { ...lease, until: SOME_TIME + 1 } } },
      { but: 'that has a due time by now', instead: { next } },
    ],
  },
  ...[1, 3].map((round): ExpectationCase => ({
    title: `to be over since it was read in round ${round}`,
    expectation: { kind: 'over', status: 'exhausted', recorded: 1, round },
    record: { status: 'exhausted', attempts: [anAttempt()], round },
    refused: [
      ...otherCounts,
      { but: 'that is under way again', instead: { status: 'retrying' } },
      { but: 'that a late success ended', instead: { status: 'delivered' } },
      { but: 'that had another round', instead: { round: round + 1 } },
      { but: 'that still owes something', instead: { owed: ['undeliverable'] } },
    ],
  })),
  { title: 'a record', expectation: { kind: 'present' }, record: {}, refused: [] },
  {
    title: 'no success yet',
    expectation: { kind: 'undelivered' },
    record: { status: 'cancelled' },
    refused: [{ but: 'that is delivered', instead: { status: 'delivered' } }],
  },
  {
    title: 'to owe what it owed when it was read',
    expectation: { kind: 'owing', owed: ['undeliverable', 'disable_subscription'] },
    record: { status: 'rejected', owed: ['undeliverable', 'disable_subscription'] },
    refused: [
      { but: 'that owes nothing', instead: { owed: [] } },
      { but: 'that owes less', instead: { owed: ['undeliverable'] } },
      { but: 'that owes it in another order', instead: { owed: ['disable_subscription', 'undeliverable'] } },
    ],
  },
  {
    title: 'to owe nothing',
    expectation: { kind: 'owing', owed: [] },
    record: { status: 'rejected' },
    refused: [{ but: 'that owes something', instead: { owed: ['undeliverable'] } }],
  },
  {
    title: 'the overdue time that was read',
    expectation: { kind: 'overdue_at', overdueAt: SOME_TIME },
    record: { overdueAt: SOME_TIME },
    refused: [
      { but: 'whose time was moved', instead: { overdueAt: SOME_TIME + 1 } },
      { but: 'that is not overdue at any time', instead: { overdueAt: undefined } },
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
  { title: 'changes nothing but what a write names', record: full, change: {}, after: {} },
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
  { title: 'counts what was lost', record: {}, change: { lost: 1 }, after: { lost: 1 } },
  { title: 'forgets what was lost', record: full, change: { lost: 0 }, after: { lost: 0 } },
  { title: 'sets the next attempt', record: {}, change: { next }, after: { next } },
  { title: 'removes the next attempt', record: full, change: { next: null }, after: { next: undefined } },
  { title: 'sets a policy', record: {}, change: { policy: otherPolicy }, after: { policy: otherPolicy } },
  {
    title: 'replaces the policy',
    record: full,
    change: { policy: otherPolicy },
    after: { policy: otherPolicy },
  },
  { title: 'forgets the policy', record: full, change: { policy: null }, after: { policy: undefined } },
  { title: 'notes a recovery', record: {}, change: { recoveries: ['r-1'] }, after: { recoveries: ['r-1'] } },
  {
    title: 'notes another recovery',
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
    title: 'owes',
    record: {},
    change: { owed: ['disable_subscription'] },
    after: { owed: ['disable_subscription'] },
  },
  { title: 'owes nothing any more', record: full, change: { owed: [] }, after: { owed: [] } },
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
  { title: 'sets when it was updated', record: full, change: { updatedAt: 7 }, after: { updatedAt: 7 } },
];
