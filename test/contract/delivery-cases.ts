import { TERMINAL_STATUSES } from '../../shared/domain/delivery/vocabulary.ts';
import type {
  Delivery,
  DeliveryChange,
  Expectation,
  StatusChange,
  Ending,
  Transition,
} from '../../shared/domain/delivery/delivery.ts';
import { DEFAULT_RETRY_POLICY } from '../../shared/domain/retry/policy.ts';
import type { Deliveries } from '../../shared/ports/deliveries.ts';
import { anAttempt, SOME_TIME, type DeliveryFields, answered } from '../support/delivery-builders.ts';

export const creation = (create: Delivery): Transition => ({
  name: 'open',
  key: create.key,
  expect: { kind: 'absent' },
  create,
});

export const createAll = async (deliveries: Deliveries, all: readonly Delivery[]): Promise<void> => {
  await Promise.all(all.map((delivery) => deliveries.write(creation(delivery))));
};

type ExpectationCase = {
  title: string;
  expectation: Exclude<Expectation, { kind: 'absent' }>;
  /** A record for which the expectation holds. */
  record: DeliveryFields;
  /** Changes of that record after which it does not hold. */
  refused: readonly { but: string; instead: DeliveryFields }[];
};

const lease = { owner: 'me', until: SOME_TIME };
const next = { number: 2, phase: 'immediate', dueAt: SOME_TIME, by: 'sqs_delay' } as const;
const undeliverable = { kind: 'undeliverable' } as const;
const disable = { kind: 'disable_subscription', reason: 'disable_requested' } as const;
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
      { but: 'with pending steps', instead: { pendingSteps: [undeliverable] } },
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
    expectation: { kind: 'steps_as_read', pendingSteps: [undeliverable, disable] },
    record: { status: 'rejected', pendingSteps: [undeliverable, disable] },
    refused: [
      { but: 'without pending steps', instead: { pendingSteps: [] } },
      { but: 'with fewer pending steps', instead: { pendingSteps: [undeliverable] } },
      { but: 'with reordered steps', instead: { pendingSteps: [disable, undeliverable] } },
    ],
  },
  {
    title: 'no pending steps',
    expectation: { kind: 'steps_as_read', pendingSteps: [] },
    record: { status: 'rejected' },
    refused: [{ but: 'with pending steps', instead: { pendingSteps: [undeliverable] } }],
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

/** What a test changes. */
export type ChangedFields = Partial<Omit<DeliveryChange, keyof StatusChange>> & StatusChange;

type ChangeCase = {
  title: string;
  record: DeliveryFields;
  change: ChangedFields;
  after: DeliveryFields;
};

const full: DeliveryFields = {
  status: 'retrying',
  round: 2,
  attempts: [anAttempt()],
  lateResults: [anAttempt({ outcome: 'rejected', result: answered(404) })],
  lost: 2,
  next,
  policy: DEFAULT_RETRY_POLICY,
  lease,
  slot: { at: SOME_TIME, epoch: 'e' },
  recoveries: ['r-1'],
  overdueAt: SOME_TIME,
};

const second = anAttempt({ number: 2, round: 2, phase: 'manual', result: answered(503, 'ÿ'), lost: 1 });
const ended: DeliveryFields = { status: 'exhausted', attempts: [anAttempt()], pendingSteps: [undeliverable] };
const otherPolicy = {
  ...DEFAULT_RETRY_POLICY,
  minimum_delay: 7,
  retry_on_status: [408, 429],
  backoff_exponent: 1.5,
};

const recoveries = ['r-1', 'r-2'];
const waiting = { status: 'pending', next: { ...next, dueAt: 5 }, slot: { at: 5, epoch: 'f' } } as const;
const otherLease = { owner: 'you', until: SOME_TIME + 1 };

const ends: readonly Ending[] = [
  { status: 'delivered' },
  { status: 'rejected', reason: 'gone' },
  { status: 'exhausted', reason: 'retries_exhausted' },
  { status: 'cancelled', reason: 'manual' },
];

/** A case after which the record has the fields as the change names them. */
const writing = (
  title: string,
  record: DeliveryFields,
  fields: ChangedFields & DeliveryFields,
): ChangeCase => ({
  title,
  record,
  change: fields,
  after: fields,
});

export const changeCases: readonly ChangeCase[] = [
  { title: 'changes only the fields that a write names', record: full, change: {}, after: {} },
  ...ends.map((end) => ({
    title: `sets the status ${end.status}, with its reason and without a next attempt`,
    record: full,
    change: end,
    after: { ...end, next: undefined, slot: undefined },
  })),
  {
    title: 'opens an ended record, without its reason and its pending steps',
    record: ended,
    change: { status: 'retrying', next },
    after: { status: 'retrying', next, reason: undefined, pendingSteps: [] },
  },
  // Each of a record without the field, and of one that has it.
  ...['sets', 'replaces'].flatMap((verb): ChangeCase[] => {
    const record = verb === 'sets' ? {} : full;
    const { attempts = [], lateResults = [] } = record;
    return [
      writing(`${verb} the round`, record, { round: 3 }),
      writing(`${verb} the count of lost attempts`, record, { lost: 1 }),
      writing(`${verb} the policy`, record, { policy: otherPolicy }),
      writing(`${verb} the recoveries`, record, { recoveries }),
      writing(`${verb} the lease`, record, { lease: otherLease }),
      writing(`${verb} the overdue time`, record, { overdueAt: 5 }),
      writing(`${verb} the time of the update`, record, { updatedAt: 7 }),
      writing(`${verb} the next attempt and its slot`, record, waiting),
      {
        title: `appends an attempt to ${attempts.length}`,
        record,
        change: { appendAttempt: second },
        after: { attempts: [...attempts, second] },
      },
      {
        title: `appends a late result to ${lateResults.length}`,
        record,
        change: { appendLateResult: second },
        after: { lateResults: [...lateResults, second] },
      },
    ];
  }),
  writing('sets the round back to the first', full, { round: 1 }),
  writing('resets the count of lost attempts', full, { lost: 0 }),
  {
    title: 'removes the slot',
    record: full,
    change: { status: 'retrying', next, slot: null },
    after: { slot: undefined },
  },
  ...(['policy', 'lease', 'overdueAt'] as const).map((field) => ({
    title: `removes the field ${field}`,
    record: full,
    change: { [field]: null },
    after: { [field]: undefined },
  })),
  ...[[disable], []].map((pendingSteps) =>
    writing(`replaces the pending steps by ${pendingSteps.length}`, ended, { pendingSteps }),
  ),
];
