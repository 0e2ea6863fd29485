import { ContendedError } from '../contention.ts';
import type { Attempt } from './attempt.ts';
import type { Phase } from '../retry/vocabulary.ts';
import {
  OPEN_STATUSES,
  type Mechanism,
  type OpenStatus,
  type PendingStep,
  type Status,
  type TerminalStatus,
  type TransitionName,
} from './vocabulary.ts';
import type { Slot } from '../subscription/rate-limit.ts';
import type { Retained } from '../retention.ts';
import type { RetryPolicy } from '../retry/policy.ts';

/**
 * Identifies the delivery of one message to one subscription. `bucket` spreads a large fan-out over partition keys
 * (docs/architecture.md#deliveries-table). `chunk`: the chunk that may hold it; omitted once a separate record is known to
 * exist.
 */
export type DeliveryKey = {
  queue: string;
  messageId: string;
  subscriptionId: string;
  bucket: number;
  chunk?: number;
};

/** Key of a record that several deliveries of a message share (chunk.ts). */
export type ChunkKey = { queue: string; messageId: string; bucket: number; chunk: number };

/** Key of one delivery in a chunk. */
export function memberKeyOf({ queue, messageId, bucket }: ChunkKey, subscriptionId: string): DeliveryKey {
  return { queue, messageId, subscriptionId, bucket };
}

/** As errors name it. */
export function nameOfDelivery({ queue, messageId, subscriptionId }: DeliveryKey): string {
  return `delivery ${queue}/${messageId}/${subscriptionId}`;
}

export function contendedDelivery(key: DeliveryKey): ContendedError {
  return new ContendedError(nameOfDelivery(key));
}

/**
 * Exclusive right to make the request. Milliseconds since the epoch. `receivedAt`: when its subscriber received the
 * delivery by pull; absent on a lease of deliver.
 */
export type Lease = { owner: string; until: number; receivedAt?: number };

/** `dueAt`: when deliver picks it up; with a rate-limit slot, the request starts a little later. */
export type NextAttempt = { number: number; phase: Phase; dueAt: number; by: Mechanism };

/** When the next request starts. */
export function startOf({ slot }: Pick<Delivery, 'slot'>, { dueAt }: NextAttempt): number {
  return Math.max(dueAt, slot?.at ?? dueAt);
}

/** Record of a delivery. Times are milliseconds since the epoch. */
export type Delivery = Retained & {
  key: DeliveryKey;
  acceptedAt: number;
  status: Status;
  reason?: string | undefined;
  round: number;
  /** Numbered from 1 without gaps; excludes the attempt in flight. */
  attempts: readonly Attempt[];
  /** Results that arrived after their lease was lost; recorded without an attempt number. */
  lateResults: readonly Attempt[];
  /** Leases that expired on the attempt that is due or in flight. */
  lost: number;
  next?: NextAttempt | undefined;
  /** Rate-limit slot that the next attempt waits for. */
  slot?: Slot | undefined;
  /** The policy in force since the round's first failure. */
  policy?: RetryPolicy | undefined;
  lease?: Lease | undefined;
  /** Of the last receive by pull, if it ended without an answer: until the next one, an acknowledgement still counts. */
  lapsed?: Lease | undefined;
  /** Pending steps of a finished delivery. */
  owed: readonly PendingStep[];
  /** Ids of the last recoveries that reopened it; makes a repeated operation idempotent. */
  recoveries: readonly string[];
  /** When reconcile checks it, or when its subscriber can receive it; absent while SQS alone redelivers its work. */
  overdueAt?: number | undefined;
  updatedAt: number;
  /** When the record may be deleted. */
  expiresAt: number;
};

export function isOpen(status: Status): status is OpenStatus {
  return OPEN_STATUSES.some((open) => open === status);
}

/** Condition of a conditional write. */
export type Expectation =
  | { kind: 'absent' }
  /** `recorded` attempts, open, due and not leased. */
  | { kind: 'claimable'; recorded: number; now: number }
  /** Unchanged since it was read: exactly this expired lease. */
  | { kind: 'lease_expired'; recorded: number; lease: Lease }
  /** `owner` holds the lease, and its attempt is the next to be recorded. */
  | { kind: 'leased'; recorded: number; owner: string }
  /** Open and unchanged since it was read: a manual change applies only to the state that the operator saw. */
  | { kind: 'as_read'; recorded: number; lease: Lease | undefined; dueAt: number | undefined }
  /** Ended, and unchanged since it was read. */
  | { kind: 'over'; status: TerminalStatus; recorded: number; round: number }
  | { kind: 'present' }
  | { kind: 'undelivered' }
  /**
   * The pending steps are unchanged since they were read, so that concurrent invocations do not undo each other.
   */
  | { kind: 'owing'; owed: readonly PendingStep[] }
  /** Guard of reconcile: the index key is unchanged since it was read. */
  | { kind: 'overdue_at'; overdueAt: number };

/** The condition that the delivery is unchanged since it was read. */
export function asLastRead({ attempts, lease, next }: Delivery) {
  return { kind: 'as_read', recorded: attempts.length, lease, dueAt: next?.dueAt } as const;
}

/** Changes of a write. An absent field stays unchanged; `null` removes it. */
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
  lapsed?: Lease | null;
  owed?: readonly PendingStep[];
  /** With the `next` of a delivery that waits for its subscriber: it names the part of the index (`waitsForPull`). */
  overdueAt?: number | null;
  appendAttempt?: Attempt;
  appendLateResult?: Attempt;
  updatedAt: number;
  /** Only ever increases. */
  expiresAt?: number;
  /** Moves the expiry by so many milliseconds, because the writer has not read the record. */
  expiresLaterBy?: number;
};

/** Time of a write and retention of the record from then on (`retentionOf`). Milliseconds. */
export type WriteTime = { now: number; retentionMs: number };

/** Every write renews a record: it expires after its retention from now, or from `dueAt` if that is later. */
export function renewed(
  { expiresAt }: { expiresAt: number },
  { now, retentionMs }: WriteTime,
  dueAt = now,
): { updatedAt: number; expiresAt: number } {
  return { updatedAt: now, expiresAt: Math.max(expiresAt, Math.max(now, dueAt) + retentionMs) };
}

/** A named conditional write. */
export type Transition = Creation | Revision;

type Named = { name: TransitionName; key: DeliveryKey };

/** Creates a record where none exists. */
export type Creation = Named & { expect: { kind: 'absent' }; create: Delivery };

/** Changes an existing record. */
export type Revision = Named & { expect: Exclude<Expectation, { kind: 'absent' }>; change: DeliveryChange };

/**
 * Whether the condition of a write holds for the current record. The DynamoDB adapter expresses the same condition.
 */
export function holds(expect: Expectation, current: Delivery | undefined): boolean {
  if (current === undefined) return expect.kind === 'absent';
  switch (expect.kind) {
    case 'absent':
      return false;
    case 'claimable':
      return (
        isAwaiting(current, expect.recorded) && current.lease === undefined && isDue(current, expect.now)
      );
    case 'lease_expired':
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

/** The record after a successful write. */
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
    lapsed: changed(change.lapsed, current.lapsed),
    owed: change.owed ?? current.owed,
    overdueAt: changed(change.overdueAt, current.overdueAt),
    updatedAt: change.updatedAt,
    expiresAt: Math.max(current.expiresAt, change.expiresAt ?? 0) + (change.expiresLaterBy ?? 0),
    retentionDays: current.retentionDays,
  } satisfies Record<keyof Delivery, unknown>;
}

function changed<T>(change: T | null | undefined, current: T | undefined): T | undefined {
  return change === undefined ? current : (change ?? undefined);
}

function appended(attempts: readonly Attempt[], attempt: Attempt | undefined): readonly Attempt[] {
  return attempt === undefined ? attempts : [...attempts, attempt];
}
