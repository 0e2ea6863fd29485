import type { CancelReason } from '../vocabulary.ts';
import type { DeliveryJob, WakeUp } from './job.ts';
import { isOpen, type Delivery, type Lease, type Transition, type WriteTime } from './delivery.ts';

/** What an invocation claims a delivery for: an attempt under its lease, or to end it because nobody can be called. */
export type Claim = { kind: 'attempt'; lease: Lease } | { kind: 'cancel'; reason: CancelReason };

/** The write that claims a delivery: for a job it creates the record, for a wake-up it takes the one that is there. */
export function claimFor(work: DeliveryJob | WakeUp, claim: Claim, at: WriteTime): Transition {
  return work.kind === 'job' ? createFor(work, claim, at) : claimExisting(work, claim, at);
}

/**
 * A job that names a lost attempt is in the overdue index from the start (its message is kept by now): what has gone wrong
 * once is not left to SQS alone.
 */
function createFor(job: DeliveryJob, claim: Claim, at: WriteTime): Transition {
  const { key, lost } = job;
  const created = newDelivery(job, at);
  if (claim.kind === 'cancel')
    return {
      name: 'cancel',
      key,
      expect: { kind: 'absent' },
      create: { ...created, status: 'cancelled', reason: claim.reason },
    };
  const { lease } = claim;
  return {
    name: 'open',
    key,
    expect: { kind: 'absent' },
    create: { ...created, lease, ...(lost === undefined ? {} : { overdueAt: lease.until }) },
  };
}

/** The record of a delivery of which nothing is on record yet. */
export function newDelivery(
  { key, acceptedAt, lost = 0 }: Pick<DeliveryJob, 'key' | 'acceptedAt' | 'lost'>,
  at: WriteTime,
): Delivery {
  return {
    key,
    acceptedAt,
    status: 'pending',
    round: 1,
    attempts: [],
    lateResults: [],
    lost,
    owed: [],
    recoveries: [],
    updatedAt: at.now,
    expiresAt: at.now + at.retentionMs,
  };
}

/** Claims a delivery that is on record: open, due, and without a lease. */
export function claimExisting(work: DeliveryJob | WakeUp, claim: Claim, at: WriteTime): Transition {
  return {
    name: claim.kind === 'attempt' ? 'claim' : 'cancel',
    key: work.key,
    expect: { kind: 'claimable', recorded: work.attempt - 1, now: at.now },
    change: { ...changeFor(claim), updatedAt: at.now, expiresAt: at.now + at.retentionMs },
  };
}

/**
 * Claims a delivery whose holder's lease ran out: its request may have reached the subscriber, so it counts as lost. From
 * then on a first attempt is in the overdue index like any other (its message is kept by now).
 */
export function takeOver(delivery: Delivery, lapsed: Lease, claim: Claim, at: WriteTime): Transition {
  const isUnindexed = delivery.overdueAt === undefined;
  return {
    name: claim.kind === 'attempt' ? 'take_over' : 'cancel',
    key: delivery.key,
    expect: { kind: 'lapsed', recorded: delivery.attempts.length, lease: lapsed },
    change: {
      ...changeFor(claim),
      ...(claim.kind === 'attempt' && isUnindexed ? { overdueAt: claim.lease.until } : {}),
      lost: delivery.lost + 1,
      updatedAt: at.now,
      expiresAt: at.now + at.retentionMs,
    },
  };
}

function changeFor(claim: Claim) {
  return claim.kind === 'attempt'
    ? { lease: claim.lease }
    : { status: 'cancelled' as const, reason: claim.reason, lease: null, next: null, overdueAt: null };
}

/** Why a claim was refused, as the record that refused it says. */
export type ClaimRefusal =
  /** There is no record: it was forgotten after its retention. */
  | { kind: 'unknown' }
  /** Over, and nothing left to do. */
  | { kind: 'finished' }
  /** Over, but what it owes was not done yet. */
  | { kind: 'owing'; delivery: Delivery }
  /** This attempt is on record already; the next one may or may not have its wake-up. */
  | { kind: 'recorded'; delivery: Delivery }
  /** The wake-up is for an attempt after the next one. */
  | { kind: 'ahead' }
  /** Another invocation holds a lease that runs. */
  | { kind: 'in_flight'; delivery: Delivery }
  /** Another invocation holds a lease that ran out. */
  | { kind: 'lapsed'; delivery: Delivery; lease: Lease }
  /** Its attempt is due later than the wake-up says. */
  | { kind: 'early'; delivery: Delivery; dueAt: number }
  /** The record changed meanwhile: it can be claimed now. */
  | { kind: 'claimable_now' };

export function claimRefusal(attempt: number, current: Delivery | undefined, now: number): ClaimRefusal {
  if (current === undefined) return { kind: 'unknown' };
  if (!isOpen(current.status))
    return current.owed.length === 0 ? { kind: 'finished' } : { kind: 'owing', delivery: current };
  if (current.attempts.length >= attempt) return { kind: 'recorded', delivery: current };
  if (current.attempts.length < attempt - 1) return { kind: 'ahead' };
  return refusalNow(current, now);
}

/** Of an open delivery whose next attempt is the one that was asked for. */
function refusalNow(delivery: Delivery, now: number): ClaimRefusal {
  const { lease, next } = delivery;
  if (lease !== undefined)
    return lease.until > now ? { kind: 'in_flight', delivery } : { kind: 'lapsed', delivery, lease };
  return next !== undefined && next.dueAt > now
    ? { kind: 'early', delivery, dueAt: next.dueAt }
    : { kind: 'claimable_now' };
}
