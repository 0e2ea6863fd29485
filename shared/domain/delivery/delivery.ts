import type { Attempt, Wait } from './attempt.ts';
import type { DisablingReason } from '../retry/outcome.ts';
import type { Phase, RejectReason } from '../retry/vocabulary.ts';
import {
  type CancelReason,
  isOpenStatus,
  type Mechanism,
  type OpenStatus,
  type TerminalStatus,
  type TransitionName,
  type UnknownReason,
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
export function toMemberKey({ queue, messageId, bucket }: ChunkKey, subscriptionId: string): DeliveryKey {
  return { queue, messageId, subscriptionId, bucket };
}

/** What names a delivery outside: in logs, answers and the audit trail. */
export function pickIds({ queue, messageId, subscriptionId }: DeliveryKey) {
  return { queue, messageId, subscriptionId };
}

/** As errors name it. */
export function nameOfDelivery({ queue, messageId, subscriptionId }: DeliveryKey): string {
  return `delivery ${queue}/${messageId}/${subscriptionId}`;
}

/**
 * Exclusive right to make the request. Milliseconds since the epoch. `receivedAt`: when its subscriber received the
 * delivery by pull; absent on a lease of deliver.
 */
export type Lease = { owner: string; until: number; receivedAt?: number };

/** `dueAt`: when deliver picks it up; with a rate-limit slot, the request starts a little later. */
export type NextAttempt = {
  number: number;
  phase: Phase;
  dueAt: number;
  by: Mechanism;
  /** Waits that ended; one for each reason. */
  waited?: readonly Wait[];
  /** Since when it waits for its slot. Absent if it does not, or an earlier version recorded the wait. */
  waitingSince?: number;
};

/** Whether a next attempt waits for the end of a pause. */
export function isPause(next: NextAttempt | null | undefined): boolean {
  return next?.by === 'subscription_pause' || next?.by === 'queue_pause';
}

/** When the next request starts. */
export function computeStart({ slot }: Pick<Delivery, 'slot'>, { dueAt }: NextAttempt): number {
  return Math.max(dueAt, slot?.at ?? dueAt);
}

/** What every record of a delivery has. Times are milliseconds since the epoch. */
export type Recorded = Retained & {
  key: DeliveryKey;
  acceptedAt: number;
  round: number;
  /** Numbered from 1 without gaps; excludes the attempt in flight. */
  attempts: readonly Attempt[];
  /** Results that arrived after their lease was lost; recorded without an attempt number. */
  lateResults: readonly Attempt[];
  /** Leases that expired on the attempt that is due or in flight. */
  lost: number;
  /** The policy in force since the round's first failure. */
  policy?: RetryPolicy | undefined;
  /** Of an ended delivery: a request was in flight when it ended. */
  lease?: Lease | undefined;
  /** Of the last receive by pull, if it ended without an answer: until the next one, an acknowledgement still counts. */
  lapsed?: Lease | undefined;
  /** Ids of the last recoveries that reopened it; makes a repeated operation idempotent. */
  recoveries: readonly string[];
  /** When reconcile checks it, or when its subscriber can receive it; absent while SQS alone redelivers its work. */
  overdueAt?: number | undefined;
  updatedAt: number;
  /** When the record may be deleted. */
  expiresAt: number;
};

type Open = Recorded & {
  /** Rate-limit slot that the next attempt waits for. */
  slot?: Slot | undefined;
  reason?: undefined;
  pendingSteps: readonly never[];
};

/** Its first attempt has not failed. `next`: absent while only its job starts that attempt. */
export type PendingDelivery = Open & { status: 'pending'; next?: NextAttempt | undefined };

export type RetryingDelivery = Open & { status: 'retrying'; next: NextAttempt };

export type OpenDelivery = PendingDelivery | RetryingDelivery;

/** How a delivery ended, and why if not by a success. */
type End =
  | { status: 'delivered'; reason?: undefined }
  | { status: 'rejected'; reason: RejectReason | UnknownReason }
  | { status: 'exhausted'; reason: 'retries_exhausted' }
  | { status: 'cancelled'; reason: CancelReason | UnknownReason };

export type EndedDelivery = Recorded &
  End & { next?: undefined; slot?: undefined; pendingSteps: readonly PendingStep[] };

/** Record of a delivery. */
export type Delivery = OpenDelivery | EndedDelivery;

/** What is still to be done for a delivery that ended. */
export type PendingStep =
  | { kind: 'undeliverable' }
  | { kind: 'exhausted_event' }
  /** `version`: of the subscription that was called; only that version is disabled. */
  | { kind: 'disable_subscription'; reason: DisablingReason; version?: number };

export function isOpen(delivery: Delivery): delivery is OpenDelivery {
  return isOpenStatus(delivery.status);
}

/** Condition of a conditional write. */
export type Expectation =
  | { kind: 'absent' }
  /** `recorded` attempts, open, due and not leased; it does not wait for the end of a pause. */
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
  | { kind: 'steps_as_read'; pendingSteps: readonly PendingStep[] }
  /** Guard of reconcile: the index key is unchanged since it was read. */
  | { kind: 'overdue_at'; overdueAt: number };

/** The condition that the delivery is unchanged since it was read. */
export function asLastRead({ attempts, lease, next }: Delivery) {
  return { kind: 'as_read', recorded: attempts.length, lease, dueAt: next?.dueAt } as const;
}

/** The condition that this owner holds the lease of the next attempt. */
export function whileLeased({ attempts }: Delivery, owner: string) {
  return { kind: 'leased', recorded: attempts.length, owner } as const;
}

/** Changes of a write. An absent field stays unchanged; `null` removes it. */
export type DeliveryChange = {
  round?: number;
  lost?: number;
  policy?: RetryPolicy | null;
  recoveries?: readonly string[];
  lease?: Lease | null;
  lapsed?: Lease | null;
  /** With the `next` of a delivery that waits for its subscriber: it names the part of the index (`isReceivable`). */
  overdueAt?: number | null;
  appendAttempt?: Attempt;
  appendLateResult?: Attempt;
  updatedAt: number;
  /** Only ever increases. */
  expiresAt?: number;
  /** Moves the expiry by so many milliseconds, because the writer has not read the record. */
  expiresLaterBy?: number;
} & StatusChange;

/** A new status says what else of the record becomes void: an open delivery has no reason, an ended one no next attempt. */
export type StatusChange =
  | { status?: undefined; next?: undefined; slot?: undefined; pendingSteps?: readonly PendingStep[] }
  /** Also for another next attempt in the same status. */
  | { status: OpenStatus; next: NextAttempt; slot?: Slot | null }
  | Ending;

export type Ending = End & { pendingSteps?: readonly PendingStep[] };

/** Time of a write and retention of the record from then on (`computeRetention`). Milliseconds. */
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

export function creation(name: TransitionName, create: Delivery): Creation {
  return { name, key: create.key, expect: { kind: 'absent' }, create };
}

/** Creates the record as a revision of a new delivery leaves it. */
export function createRevised({ name, change }: Revision, created: Delivery): Creation {
  return creation(name, apply(change, created));
}

/** Changes an existing record. */
export type Revision = Named & { expect: Exclude<Expectation, { kind: 'absent' }>; change: DeliveryChange };

export function revision(
  name: TransitionName,
  { key }: Pick<Delivery, 'key'>,
  expect: Revision['expect'],
  change: DeliveryChange,
): Revision {
  return { name, key, expect, change };
}

/**
 * Whether the condition of a write holds for the current record. The DynamoDB adapter expresses the same condition.
 */
export function holds(expect: Expectation, current: Delivery | undefined): boolean {
  if (current === undefined) return expect.kind === 'absent';
  switch (expect.kind) {
    case 'absent':
      return false;
    case 'claimable':
      return isAwaiting(current, expect.recorded) && isFree(current) && isDue(current, expect.now);
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
    case 'steps_as_read':
      return joinStepNames(current.pendingSteps) === joinStepNames(expect.pendingSteps);
    case 'overdue_at':
      return current.overdueAt === expect.overdueAt;
  }
}

function isAwaiting(delivery: Delivery, recorded: number): boolean {
  return isOpen(delivery) && delivery.attempts.length === recorded;
}

/** Neither leased nor waiting for the end of a pause. */
function isFree({ lease, next }: Delivery): boolean {
  return lease === undefined && !isPause(next);
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
    current.pendingSteps.length === 0
  );
}

function joinStepNames(steps: readonly PendingStep[]): string {
  return steps.map(({ kind }) => kind).join();
}

function isSameLease(lease: Lease | undefined, other: Lease): boolean {
  return lease?.owner === other.owner && lease.until === other.until;
}

/** The record after a successful write. */
export function apply(change: DeliveryChange, current: Delivery): Delivery {
  const recorded = recordedAfter(change, current);
  const { pendingSteps = [] } = 'pendingSteps' in change ? change : {};
  switch (change.status) {
    case undefined:
      return unmoved(current, recorded, change.pendingSteps);
    case 'pending':
    case 'retrying': {
      const { status, next } = change;
      return { ...recorded, status, next, slot: changed(change.slot, current.slot), pendingSteps: [] };
    }
    case 'delivered':
      return { ...recorded, status: change.status, pendingSteps };
    case 'rejected':
      return { ...recorded, status: change.status, reason: change.reason, pendingSteps };
    case 'exhausted':
      return { ...recorded, status: change.status, reason: change.reason, pendingSteps };
    case 'cancelled':
      return { ...recorded, status: change.status, reason: change.reason, pendingSteps };
  }
}

function recordedAfter(change: DeliveryChange, current: Delivery): Recorded {
  return {
    key: current.key,
    acceptedAt: current.acceptedAt,
    round: change.round ?? current.round,
    attempts: appended(current.attempts, change.appendAttempt),
    lateResults: appended(current.lateResults, change.appendLateResult),
    lost: change.lost ?? current.lost,
    policy: changed(change.policy, current.policy),
    recoveries: change.recoveries ?? current.recoveries,
    lease: changed(change.lease, current.lease),
    lapsed: changed(change.lapsed, current.lapsed),
    overdueAt: changed(change.overdueAt, current.overdueAt),
    updatedAt: change.updatedAt,
    expiresAt: Math.max(current.expiresAt, change.expiresAt ?? 0) + (change.expiresLaterBy ?? 0),
    retentionDays: current.retentionDays,
  } satisfies Record<keyof Recorded, unknown>;
}

function unmoved(current: Delivery, recorded: Recorded, steps: readonly PendingStep[] | undefined): Delivery {
  return isOpen(current)
    ? { ...current, ...recorded }
    : { ...current, ...recorded, pendingSteps: steps ?? current.pendingSteps };
}

function changed<T>(change: T | null | undefined, current: T | undefined): T | undefined {
  return change === undefined ? current : (change ?? undefined);
}

function appended(attempts: readonly Attempt[], attempt: Attempt | undefined): readonly Attempt[] {
  return attempt === undefined ? attempts : [...attempts, attempt];
}
