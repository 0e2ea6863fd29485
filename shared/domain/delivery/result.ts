import type { Attempt } from './attempt.ts';
import type { Owed } from '../vocabulary.ts';
import {
  isOpen,
  type Change,
  type Delivery,
  type Lease,
  type NextAttempt,
  type Transition,
} from './delivery.ts';
import type { Moment } from './entry.ts';
import { ADDRESS_FORBIDDEN } from './outcome.ts';
import type { Slot } from '../subscription/rate-limit.ts';
import type { RetryPolicy } from '../retry/policy.ts';

/** What an attempt led to. */
export type Verdict =
  | { kind: 'delivered' }
  /** Kept with the policy in force, so that a later change does not reshape a schedule under way. */
  | { kind: 'retry'; next: NextAttempt; policy: RetryPolicy; lease: Lease | undefined }
  | { kind: 'rejected'; gone: boolean; policy: RetryPolicy }
  | { kind: 'exhausted'; policy: RetryPolicy };

/** Records an attempt under the lease it was made with: result, status, and what comes of it, in one write. */
export function recordAttempt(
  delivery: Delivery,
  owner: string,
  { attempt, verdict }: { attempt: Attempt; verdict: Verdict },
  at: Moment,
): Transition {
  return {
    name: 'record',
    key: delivery.key,
    expect: { kind: 'leased', recorded: attempt.number - 1, owner },
    change: {
      ...changeOf(verdict, attempt, at.now),
      lost: 0,
      // Used by this attempt.
      ...(delivery.slot === undefined ? {} : { slot: null }),
      appendAttempt: attempt,
      updatedAt: at.now,
      expiresAt: Math.max(at.now, verdict.kind === 'retry' ? verdict.next.dueAt : 0) + at.retentionMs,
    },
  };
}

type StatusChange = Omit<Change, 'updatedAt' | 'expiresAt'>;

function changeOf(verdict: Verdict, attempt: Attempt, now: number): StatusChange {
  switch (verdict.kind) {
    case 'delivered':
      return { status: 'delivered', reason: null, next: null, lease: null, overdueAt: null };
    case 'retry':
      return {
        status: 'retrying',
        policy: verdict.policy,
        next: verdict.next,
        lease: verdict.lease ?? null,
        overdueAt: verdict.next.dueAt,
      };
    case 'rejected':
      return {
        ...ended(
          'rejected',
          rejectionReason(verdict.gone, attempt),
          verdict.gone ? OWED_WHEN_GONE : OWED,
          now,
        ),
        policy: verdict.policy,
      };
    case 'exhausted':
      return { ...ended('exhausted', 'retries_exhausted', OWED_WHEN_EXHAUSTED, now), policy: verdict.policy };
  }
}

const OWED: readonly Owed[] = ['undeliverable'];

const OWED_WHEN_EXHAUSTED: readonly Owed[] = ['undeliverable', 'exhausted_event'];

/** Disabled first, so that a subscriber that asked never to be called again is not called meanwhile. */
const OWED_WHEN_GONE: readonly Owed[] = ['disable_subscription', 'undeliverable'];

function ended(
  status: 'rejected' | 'exhausted',
  reason: string,
  owed: readonly Owed[],
  now: number,
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

function rejectionReason(gone: boolean, attempt: Attempt): string {
  if (gone) return 'gone';
  return attempt.statusCode === undefined ? ADDRESS_FORBIDDEN : `http_${attempt.statusCode}`;
}

/** Each is a crash or a cancellation; beyond these a further one says nothing new, and the record must stay small. */
const MOST_LATE_RESULTS = 50;

/**
 * A result whose lease is gone is put on record outside the numbering; `delivered` still ends the delivery. Whoever holds the
 * lease by now is left with it, so that nobody opens a round beside that request.
 */
export function recordLateResult(current: Delivery, attempt: Attempt, at: Moment): Transition {
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

/** Ends a delivery whose lease is held without an attempt. */
export function cancelLeased(delivery: Delivery, owner: string, reason: string, at: Moment): Transition {
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

/** Gives an attempt back that was not made: whoever comes next may begin it, and nothing counts as lost. */
export function release(delivery: Delivery, owner: string, at: Moment): Transition {
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

/**
 * Puts a delivery on record that has to wait for its turn: no attempt is spent, no lease is held. From then on a first attempt
 * is listed and overdue like any other; its message is kept by now.
 */
export function awaitSlot(
  delivery: Delivery,
  owner: string,
  { next, slot }: { next: NextAttempt; slot: Slot },
  at: Moment,
): Transition {
  return {
    name: 'await_slot',
    key: delivery.key,
    expect: { kind: 'leased', recorded: delivery.attempts.length, owner },
    change: {
      status: delivery.status,
      next,
      slot,
      lease: null,
      overdueAt: next.dueAt,
      updatedAt: at.now,
      // No later than the claim will say, which would have to be written twice then.
      expiresAt: Math.max(delivery.expiresAt, next.dueAt + at.retentionMs),
    },
  };
}

/** Takes what was done off what a terminal record owes. */
export function settle(delivery: Delivery, done: readonly Owed[], at: Moment): Transition {
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

/** When its last attempt was over, whenever that is asked (milliseconds since the epoch). */
export function endOf({ attempts, updatedAt }: Delivery): number {
  const last = attempts.at(-1);
  return last === undefined ? updatedAt : last.startedAt + last.durationMs;
}

/** How long reconcile leaves a delivery alone once it has woken it, so that a backlog is not multiplied (design §6). */
const POSTPONED_MS = 15 * 60 * 1000;

/**
 * Whether reconcile has woken a delivery before, and nothing came of it: the index key under which it was found is further
 * from its time than anything else moves it.
 */
export function isStuck(found: Delivery, overdueAt: number): boolean {
  return overdueAt - dueOf(found) >= POSTPONED_MS;
}

/** What a delivery waits for first: its next attempt, its first attempt's holder, or what it owes since it was over. */
function dueOf(delivery: Delivery): number {
  return (
    delivery.next?.dueAt ??
    (isOpen(delivery.status) ? (delivery.lease?.until ?? delivery.acceptedAt) : endOf(delivery))
  );
}

/** reconcile's claim on an overdue delivery: whoever moves the index key wakes it. */
export function postpone(found: { key: Delivery['key']; overdueAt: number }, at: Moment): Transition {
  return {
    name: 'postpone',
    key: found.key,
    expect: { kind: 'overdue_at', overdueAt: found.overdueAt },
    change: { overdueAt: at.now + POSTPONED_MS, updatedAt: at.now, expiresAt: at.now + at.retentionMs },
  };
}
