import type { Attempt } from './attempt.ts';
import type { CancelReason, EndReason, Owed, RejectReason } from '../vocabulary.ts';
import {
  isOpen,
  type DeliveryChange,
  type Delivery,
  type Lease,
  type NextAttempt,
  type Revision,
  type WriteTime,
} from './delivery.ts';
import { ADDRESS_FORBIDDEN } from './outcome.ts';
import type { RetryPolicy } from '../retry/policy.ts';

/** An attempt to be put on record, with what it leads to, under the lease that it was made with. */
type AttemptMade = { delivery: Delivery; owner: string; attempt: Attempt };

export function recordDelivered(made: AttemptMade, at: WriteTime): Revision {
  return recordAttempt(made, DELIVERED, at);
}

const DELIVERED = { status: 'delivered', reason: null, next: null, lease: null, overdueAt: null } as const;

/**
 * `lease`: of the invocation that makes the retry itself. The policy is kept, so that a later change of it does not reshape
 * a schedule under way.
 */
export function recordRetry(
  made: AttemptMade,
  { next, policy, lease }: { next: NextAttempt; policy: RetryPolicy; lease: Lease | undefined },
  at: WriteTime,
): Revision {
  const change = {
    status: 'retrying',
    policy,
    next,
    lease: lease ?? null,
    overdueAt: next.dueAt,
  } as const;
  return recordAttempt(made, change, at, next.dueAt);
}

/** `gone`: the subscriber asked never to be called again. It is disabled first, so that it is not called meanwhile. */
export function recordRejected(
  made: AttemptMade,
  { policy, gone }: { policy: RetryPolicy; gone: boolean },
  at: WriteTime,
): Revision {
  const reason = gone ? 'gone' : rejectionReason(made.attempt);
  const owed: Owed[] = gone ? ['disable_subscription', 'undeliverable'] : ['undeliverable'];
  return recordAttempt(made, { ...ended('rejected', reason, owed, at), policy }, at);
}

export function recordExhausted(made: AttemptMade, policy: RetryPolicy, at: WriteTime): Revision {
  const owed: Owed[] = ['undeliverable', 'exhausted_event'];
  return recordAttempt(made, { ...ended('exhausted', 'retries_exhausted', owed, at), policy }, at);
}

type StatusChange = Omit<DeliveryChange, 'updatedAt' | 'expiresAt'>;

function recordAttempt(
  { delivery, owner, attempt }: AttemptMade,
  change: StatusChange,
  { now, retentionMs }: WriteTime,
  dueAt = now,
): Revision {
  return {
    name: 'record',
    key: delivery.key,
    expect: { kind: 'leased', recorded: attempt.number - 1, owner },
    change: {
      ...change,
      lost: 0,
      // Used by this attempt.
      ...(delivery.slot === undefined ? {} : { slot: null }),
      appendAttempt: attempt,
      updatedAt: now,
      expiresAt: Math.max(now, dueAt) + retentionMs,
    },
  };
}

function ended(
  status: 'rejected' | 'exhausted',
  reason: EndReason,
  owed: readonly Owed[],
  { now }: WriteTime,
): StatusChange {
  return {
    status,
    reason,
    next: null,
    lease: null,
    owed,
    overdueAt: now,
  };
}

function rejectionReason({ statusCode }: Attempt): RejectReason {
  return statusCode === undefined ? ADDRESS_FORBIDDEN : `http_${statusCode}`;
}

/** Each comes of a crash or a cancellation. One more than these says nothing new, and the record must stay small. */
const MOST_LATE_RESULTS = 50;

/**
 * Puts a result whose lease is gone on record outside the numbering; a success still ends the delivery. A lease that another
 * invocation holds by now stays, so that no round is opened beside its request.
 */
export function recordLateResult(current: Delivery, attempt: Attempt, at: WriteTime): Revision {
  const wins = attempt.outcome === 'delivered' && current.status !== 'delivered';
  return {
    name: 'record_late',
    key: current.key,
    expect: wins ? { kind: 'undelivered' } : { kind: 'present' },
    change: {
      ...(wins ? { status: 'delivered', reason: null, next: null, owed: [], overdueAt: null } : {}),
      ...(wins || current.lateResults.length < MOST_LATE_RESULTS ? { appendLateResult: attempt } : {}),
      updatedAt: at.now,
      expiresAt: Math.max(current.expiresAt, at.now + at.retentionMs),
    },
  };
}

/** Ends a delivery under our lease, without an attempt. */
export function cancelLeased(
  delivery: Delivery,
  owner: string,
  reason: CancelReason,
  at: WriteTime,
): Revision {
  return {
    name: 'cancel',
    key: delivery.key,
    expect: { kind: 'leased', recorded: delivery.attempts.length, owner },
    change: {
      status: 'cancelled',
      reason,
      next: null,
      lease: null,
      overdueAt: null,
      updatedAt: at.now,
      expiresAt: at.now + at.retentionMs,
    },
  };
}

/** Gives up the lease without an attempt: nothing was sent, so nothing counts as lost. */
export function release(delivery: Delivery, owner: string, at: WriteTime): Revision {
  return {
    name: 'release',
    key: delivery.key,
    expect: { kind: 'leased', recorded: delivery.attempts.length, owner },
    change: {
      lease: null,
      updatedAt: at.now,
      expiresAt: Math.max(delivery.expiresAt, at.now + at.retentionMs),
    },
  };
}

/** Takes what was done off what a terminal record owes. */
export function settle(delivery: Delivery, done: readonly Owed[], at: WriteTime): Revision {
  const owed = delivery.owed.filter((one) => !done.includes(one));
  return {
    name: 'settle',
    key: delivery.key,
    expect: { kind: 'owing', owed: delivery.owed },
    change: {
      owed,
      ...(owed.length === 0 ? { overdueAt: null } : {}),
      updatedAt: at.now,
      expiresAt: Math.max(delivery.expiresAt, at.now + at.retentionMs),
    },
  };
}

/** When its last attempt ended (milliseconds since the epoch); the same whenever it is asked. */
export function endOf({ attempts, updatedAt }: Delivery): number {
  const last = attempts.at(-1);
  return last === undefined ? updatedAt : last.startedAt + last.durationMs;
}

/** How long reconcile leaves a delivery alone once it has woken it, so that a backlog is not multiplied (docs/design.md#6-wake-ups). */
const POSTPONED_MS = 15 * 60 * 1000;

/** Whether reconcile woke a delivery before in vain: only reconcile moves the index key so far from the delivery's time. */
export function wasAlreadyPostponed(found: Delivery, overdueAt: number): boolean {
  return overdueAt - dueOf(found) >= POSTPONED_MS;
}

/** The time of a delivery in the overdue index: of its next attempt, of its first attempt's lease, or of its end. */
function dueOf(delivery: Delivery): number {
  return (
    delivery.next?.dueAt ??
    (isOpen(delivery.status) ? (delivery.lease?.until ?? delivery.acceptedAt) : endOf(delivery))
  );
}

/** reconcile's claim on an overdue delivery: the run that moves the index key wakes it. */
export function postpone(found: { key: Delivery['key']; overdueAt: number }, at: WriteTime): Revision {
  return {
    name: 'postpone',
    key: found.key,
    expect: { kind: 'overdue_at', overdueAt: found.overdueAt },
    change: { overdueAt: at.now + POSTPONED_MS, updatedAt: at.now, expiresAt: at.now + at.retentionMs },
  };
}
