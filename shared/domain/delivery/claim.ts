import type { CancelReason, DroppedReason } from './vocabulary.ts';
import type { DeliveryJob, WakeUp } from './job.ts';
import {
  creation,
  isOpen,
  isPause,
  type Delivery,
  type EndedDelivery,
  type Lease,
  type OpenDelivery,
  type PendingDelivery,
  renewed,
  revision,
  type Transition,
  type WriteTime,
} from './delivery.ts';

/**
 * Why an invocation claims a delivery: to make an attempt, or to cancel it because there is no subscriber to call.
 */
export type Claim = { kind: 'attempt'; lease: Lease } | { kind: 'cancel'; reason: CancelReason };

/** The write that claims a delivery: a job creates the record, a wake-up updates it. */
export function claimFor(work: DeliveryJob | WakeUp, claim: Claim, at: WriteTime): Transition {
  return work.kind === 'job' ? createFor(work, claim, at) : claimExisting(work, claim, at);
}

/**
 * A job with a lost attempt is put into the overdue index at once, so that it does not depend on SQS alone. Its
 * message is already kept.
 */
function createFor(job: DeliveryJob, claim: Claim, at: WriteTime): Transition {
  const created = newDelivery(job, at);
  if (claim.kind === 'cancel')
    return creation('cancel', { ...created, status: 'cancelled', reason: claim.reason });
  const { lease } = claim;
  const overdue = job.lost === undefined ? {} : { overdueAt: lease.until };
  return creation('open', { ...created, lease, ...overdue });
}

/** The first record of a delivery. */
export function newDelivery(
  {
    key,
    acceptedAt,
    lost = 0,
    retentionDays,
  }: Pick<DeliveryJob, 'key' | 'acceptedAt' | 'lost' | 'retentionDays'>,
  at: WriteTime,
): Omit<PendingDelivery, 'next' | 'slot'> {
  return {
    key,
    acceptedAt,
    status: 'pending',
    round: 1,
    attempts: [],
    lateResults: [],
    lost,
    pendingSteps: [],
    recoveries: [],
    updatedAt: at.now,
    expiresAt: at.now + at.retentionMs,
    retentionDays,
  };
}

/**
 * Claims a recorded delivery that is open, due and not leased, without a read of its expiry, which counts at least from
 * its due time: the attempt renews it, and a cancellation moves it.
 */
export function claimExisting(
  work: DeliveryJob | WakeUp,
  claim: Claim,
  { now }: Pick<WriteTime, 'now'>,
): Transition {
  const since = work.kind === 'wake_up' ? work.dueAt : work.acceptedAt;
  const name = claim.kind === 'attempt' ? 'claim' : 'cancel';
  const expect = { kind: 'claimable', recorded: work.attempt - 1, now } as const;
  return revision(name, work, expect, {
    ...changeFor(claim),
    updatedAt: now,
    ...(claim.kind === 'cancel' && { expiresLaterBy: Math.max(0, now - since) }),
  });
}

/**
 * Claims a delivery whose lease expired. The request counts as lost, because it may have reached the subscriber. A
 * first attempt joins the overdue index from then on; its message is already kept.
 */
export function takeOver(delivery: Delivery, expired: Lease, claim: Claim, at: WriteTime): Transition {
  const isUnindexed = delivery.overdueAt === undefined;
  const name = claim.kind === 'attempt' ? 'take_over' : 'cancel';
  const expect = { kind: 'lease_expired', recorded: delivery.attempts.length, lease: expired } as const;
  return revision(name, delivery, expect, {
    ...changeFor(claim),
    ...(claim.kind === 'attempt' && isUnindexed ? { overdueAt: claim.lease.until } : {}),
    lost: delivery.lost + 1,
    ...renewed(delivery, at),
  });
}

function changeFor(claim: Claim) {
  return claim.kind === 'attempt'
    ? { lease: claim.lease }
    : { status: 'cancelled' as const, reason: claim.reason, lease: null, overdueAt: null };
}

/** Why a claim was refused, judged from the current record. */
export type ClaimRefusal =
  /** There is nothing to do. */
  | { kind: 'dropped'; reason: DroppedReason }
  /** Ended, with pending steps. */
  | { kind: 'unfinished'; delivery: EndedDelivery }
  /** This attempt is already recorded; the wake-up for the next one may be missing. */
  | { kind: 'recorded'; delivery: Delivery }
  /** Another invocation holds a valid lease. */
  | { kind: 'in_flight'; delivery: Delivery }
  /** Another invocation holds an expired lease. */
  | { kind: 'lease_expired'; delivery: OpenDelivery; lease: Lease }
  /** The record's due time is in the future: later than the wake-up states. */
  | { kind: 'early'; delivery: Delivery; dueAt: number }
  /** The record changed since the write was refused and can now be claimed. */
  | { kind: 'claimable_now'; delivery: OpenDelivery };

export function claimRefusal(attempt: number, current: Delivery | undefined, now: number): ClaimRefusal {
  if (current === undefined) return { kind: 'dropped', reason: 'no_record' };
  if (!isOpen(current))
    return current.pendingSteps.length === 0
      ? { kind: 'dropped', reason: 'finished' }
      : { kind: 'unfinished', delivery: current };
  if (current.attempts.length >= attempt) return { kind: 'recorded', delivery: current };
  if (current.attempts.length < attempt - 1) return { kind: 'dropped', reason: 'stale' };
  return refusalNow(current, now);
}

/** `delivery` is open, and the requested attempt is its next one. */
function refusalNow(delivery: OpenDelivery, now: number): ClaimRefusal {
  const { lease, next } = delivery;
  if (lease !== undefined)
    return lease.until > now ? { kind: 'in_flight', delivery } : { kind: 'lease_expired', delivery, lease };
  if (isPause(next)) return { kind: 'dropped', reason: 'paused' };
  return next !== undefined && next.dueAt > now
    ? { kind: 'early', delivery, dueAt: next.dueAt }
    : { kind: 'claimable_now', delivery };
}
