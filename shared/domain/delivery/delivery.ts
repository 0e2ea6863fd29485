import type { Attempt } from './attempt.ts';
import {
  OPEN_STATUSES,
  type Mechanism,
  type OpenStatus,
  type Owed,
  type Phase,
  type Status,
  type TerminalStatus,
  type TransitionName,
} from '../vocabulary.ts';
import type { Slot } from '../subscription/rate-limit.ts';
import type { RetryPolicy } from '../retry/policy.ts';

/**
 * One message × one subscription. The bucket spreads a large fan-out over keys (docs/design.md#fan-out-buckets). `chunk`: where it may be on
 * record together with others, as long as it has no record of its own; whoever has seen that one leaves it out.
 */
export type DeliveryKey = {
  queue: string;
  messageId: string;
  subscriptionId: string;
  bucket: number;
  chunk?: number;
};

/** Where several deliveries of a message are on record together (chunk.ts). */
export type ChunkKey = { queue: string; messageId: string; bucket: number; chunk: number };

/** Of one delivery in a chunk. */
export function memberKeyOf({ queue, messageId, bucket }: ChunkKey, subscriptionId: string): DeliveryKey {
  return {
    queue,
    messageId,
    subscriptionId,
    bucket,
  };
}

/** One request at a time: who may make it, and until when (milliseconds since the epoch). */
export type Lease = { owner: string; until: number };

/** `dueAt`: when it is to be looked at. Where it waits for a slot, its request starts a little later than that. */
export type NextAttempt = { number: number; phase: Phase; dueAt: number; by: Mechanism };

/** When the request of what comes next is to start. */
export function startOf({ slot }: Pick<Delivery, 'slot'>, { dueAt }: NextAttempt): number {
  return Math.max(dueAt, slot?.at ?? dueAt);
}

/** The record of a delivery. Times are milliseconds since the epoch. */
export type Delivery = {
  key: DeliveryKey;
  acceptedAt: number;
  status: Status;
  reason?: string | undefined;
  round: number;
  /** Numbered from 1 without gap; the attempt under way is not among them. */
  attempts: readonly Attempt[];
  /** Results that came after their lease was gone: on record, outside the numbering. */
  lateResults: readonly Attempt[];
  /** How often a lease ran out on the attempt that is due or under way. */
  lost: number;
  next?: NextAttempt | undefined;
  /** What the next attempt waits for, where its subscription limits the rate. */
  slot?: Slot | undefined;
  /** In force since the round's first failure. */
  policy?: RetryPolicy | undefined;
  lease?: Lease | undefined;
  owed: readonly Owed[];
  /** The last recoveries that gave it a round, by their ids, so that an order that comes twice gives it one. */
  recoveries: readonly string[];
  /** When reconcile looks at it; absent where nothing is outstanding but what SQS itself brings back. */
  overdueAt?: number | undefined;
  updatedAt: number;
  /** When the record may be forgotten. */
  expiresAt: number;
};

export function isOpen(status: Status): status is OpenStatus {
  return OPEN_STATUSES.some((open) => open === status);
}

/** What must hold of the record for a write to happen: one conditional write's condition, in our words. */
export type Expectation =
  | { kind: 'absent' }
  /** n − 1 attempts recorded, open, due, nobody's lease on it. */
  | { kind: 'claimable'; recorded: number; now: number }
  /** As read: exactly this lease, which ran out. */
  | { kind: 'lapsed'; recorded: number; lease: Lease }
  /** The lease is mine, and my attempt is the one to be recorded. */
  | { kind: 'leased'; recorded: number; owner: string }
  /** Open, and exactly as read: by hand nothing is changed that was not seen. */
  | { kind: 'as_read'; recorded: number; lease: Lease | undefined; dueAt: number | undefined }
  /** Over, and nothing was done about it since it was read. */
  | { kind: 'over'; status: TerminalStatus; recorded: number; round: number }
  | { kind: 'present' }
  | { kind: 'undelivered' }
  /** What is owed is exactly what was read, so that two who settle do not undo each other. */
  | { kind: 'owing'; owed: readonly Owed[] }
  /** reconcile's guard: nobody moved the index key since it was read. */
  | { kind: 'overdue_at'; overdueAt: number };

/** Exactly as it was read, where nobody has begun anything with it since. */
export function asLastRead({ attempts, lease, next }: Delivery) {
  return { kind: 'as_read', recorded: attempts.length, lease, dueAt: next?.dueAt } as const;
}

/** What a write changes. A field that is left out stays; `null` removes it. */
export type DeliveryChange = {
  status?: Status;
  reason?: string | null;
  round?: number;
  lost?: number;
  next?: NextAttempt | null;
  slot?: Slot | null;
  policy?: RetryPolicy | null;
  recoveries?: readonly string[];
  lease?: Lease | null;
  owed?: readonly Owed[];
  overdueAt?: number | null;
  appendAttempt?: Attempt;
  appendLateResult?: Attempt;
  updatedAt: number;
  /** Never moves back. */
  expiresAt: number;
};

/** When a transition is made, and how long its record is kept from then on. Milliseconds. */
export type WriteTime = { now: number; retentionMs: number };

/** A named conditional write. `create` is what is written where the record must be absent. */
export type Transition =
  | { name: TransitionName; key: DeliveryKey; expect: { kind: 'absent' }; create: Delivery }
  | {
      name: TransitionName;
      key: DeliveryKey;
      expect: Exclude<Expectation, { kind: 'absent' }>;
      change: DeliveryChange;
    };

/** A transition of a record that is there. */
export type Revision = Extract<Transition, { change: DeliveryChange }>;

/** Whether the condition of a write holds on the record as it is. The DynamoDB adapter says the same in its own language. */
export function holds(expect: Expectation, current: Delivery | undefined): boolean {
  if (current === undefined) return expect.kind === 'absent';
  switch (expect.kind) {
    case 'absent':
      return false;
    case 'claimable':
      return (
        isAwaiting(current, expect.recorded) && current.lease === undefined && isDue(current, expect.now)
      );
    case 'lapsed':
      return isAwaiting(current, expect.recorded) && isSameLease(current.lease, expect.lease);
    case 'leased':
      return isAwaiting(current, expect.recorded) && current.lease?.owner === expect.owner;
    case 'as_read':
      return isAsRead(current, expect);
    case 'over':
      return isOver(current, expect);
    case 'present':
      return true;
    case 'undelivered':
      return current.status !== 'delivered';
    case 'owing':
      return current.owed.join() === expect.owed.join();
    case 'overdue_at':
      return current.overdueAt === expect.overdueAt;
  }
}

function isAwaiting(delivery: Delivery, recorded: number): boolean {
  return isOpen(delivery.status) && delivery.attempts.length === recorded;
}

function isDue(delivery: Delivery, now: number): boolean {
  return delivery.next === undefined || delivery.next.dueAt <= now;
}

function isAsRead(current: Delivery, expect: Extract<Expectation, { kind: 'as_read' }>): boolean {
  return (
    isAwaiting(current, expect.recorded) &&
    current.next?.dueAt === expect.dueAt &&
    (expect.lease === undefined ? current.lease === undefined : isSameLease(current.lease, expect.lease))
  );
}

function isOver(current: Delivery, expect: Extract<Expectation, { kind: 'over' }>): boolean {
  return (
    current.status === expect.status &&
    current.attempts.length === expect.recorded &&
    current.round === expect.round &&
    current.owed.length === 0
  );
}

function isSameLease(lease: Lease | undefined, other: Lease): boolean {
  return lease?.owner === other.owner && lease.until === other.until;
}

/** The record after a write whose condition held. */
export function apply(change: DeliveryChange, current: Delivery): Delivery {
  return {
    key: current.key,
    acceptedAt: current.acceptedAt,
    status: change.status ?? current.status,
    reason: changed(change.reason, current.reason),
    round: change.round ?? current.round,
    attempts: appended(current.attempts, change.appendAttempt),
    lateResults: appended(current.lateResults, change.appendLateResult),
    lost: change.lost ?? current.lost,
    next: changed(change.next, current.next),
    slot: changed(change.slot, current.slot),
    policy: changed(change.policy, current.policy),
    recoveries: change.recoveries ?? current.recoveries,
    lease: changed(change.lease, current.lease),
    owed: change.owed ?? current.owed,
    overdueAt: changed(change.overdueAt, current.overdueAt),
    updatedAt: change.updatedAt,
    expiresAt: Math.max(current.expiresAt, change.expiresAt),
  } satisfies Record<keyof Delivery, unknown>;
}

function changed<T>(change: T | null | undefined, current: T | undefined): T | undefined {
  return change === undefined ? current : (change ?? undefined);
}

function appended(attempts: readonly Attempt[], attempt: Attempt | undefined): readonly Attempt[] {
  return attempt === undefined ? attempts : [...attempts, attempt];
}
