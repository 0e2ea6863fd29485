import type { DeliveryJob, WakeUp } from './job.ts';
import type { Owed } from '../vocabulary.ts';
import { isOpen, type Delivery, type Lease, type Transition } from './delivery.ts';

/** What an invocation wants of a delivery before its attempt: the lease, or to end it because nobody is there. */
export type Entry = { kind: 'lease'; lease: Lease } | { kind: 'cancel'; reason: string };

export type Moment = { now: number; retentionMs: number };

function fieldsOf(entry: Entry) {
  return entry.kind === 'lease'
    ? { lease: entry.lease }
    : { status: 'cancelled' as const, reason: entry.reason, lease: null, next: null, overdueAt: null };
}

/** The one conditional write that enters a delivery: it creates the record of a first attempt, or takes an open one. */
export function enter(work: DeliveryJob | WakeUp, entry: Entry, at: Moment): Transition {
  return work.kind === 'job' ? opening(work, entry, at) : reenter(work, entry, at);
}

/** Where somebody was to make the attempt before and did not come back, it is in the overdue index from the start (its message is kept by now). */
function opening(job: DeliveryJob, entry: Entry, at: Moment): Transition {
  return {
    name: entry.kind === 'lease' ? 'open' : 'cancel',
    key: job.key,
    expect: { kind: 'absent' },
    create: {
      key: job.key,
      acceptedAt: job.acceptedAt,
      status: entry.kind === 'lease' ? 'pending' : 'cancelled',
      reason: entry.kind === 'cancel' ? entry.reason : undefined,
      round: 1,
      attempts: [],
      lateResults: [],
      lost: job.lost ?? 0,
      lease: entry.kind === 'lease' ? entry.lease : undefined,
      ...(entry.kind === 'lease' && job.lost !== undefined ? { overdueAt: entry.lease.until } : {}),
      owed: [],
      recoveries: [],
      updatedAt: at.now,
      expiresAt: at.now + at.retentionMs,
    },
  };
}

/** Enters a record that is there: open, due and nobody's. */
export function reenter(work: DeliveryJob | WakeUp, entry: Entry, at: Moment): Transition {
  return {
    name: entry.kind === 'lease' ? 'claim' : 'cancel',
    key: work.key,
    expect: { kind: 'claimable', recorded: work.attempt - 1, now: at.now },
    change: { ...fieldsOf(entry), updatedAt: at.now, expiresAt: at.now + at.retentionMs },
  };
}

/**
 * Enters in the place of a holder whose lease ran out: its request may have reached the subscriber, so it counts. From then
 * on a first attempt is in the overdue index like any other (its message is kept by now): what has gone wrong once is not left to SQS alone.
 */
export function enterLapsed(delivery: Delivery, lapsed: Lease, entry: Entry, at: Moment): Transition {
  return {
    name: entry.kind === 'lease' ? 'take_over' : 'cancel',
    key: delivery.key,
    expect: { kind: 'lapsed', recorded: delivery.attempts.length, lease: lapsed },
    change: {
      ...fieldsOf(entry),
      ...(entry.kind === 'lease' && delivery.overdueAt === undefined ? { overdueAt: entry.lease.until } : {}),
      lost: delivery.lost + 1,
      updatedAt: at.now,
      expiresAt: at.now + at.retentionMs,
    },
  };
}

/** Why the delivery could not be entered, told by the record that refused it. Each is a branch of `deliver`. */
export type Refusal =
  /** No record: it was forgotten after its retention. */
  | { kind: 'unknown' }
  /** Over, and nothing left to do. */
  | { kind: 'finished' }
  /** Over, but what it owes was not done yet. */
  | { kind: 'owing'; delivery: Delivery; owed: readonly Owed[] }
  /** This attempt is on record already; the next one may or may not have its wake-up. */
  | { kind: 'recorded'; delivery: Delivery }
  /** A wake-up from ahead of the record. */
  | { kind: 'ahead' }
  /** Somebody is at it. */
  | { kind: 'in_flight'; delivery: Delivery; lease: Lease }
  /** Somebody was at it, and did not come back in time. */
  | { kind: 'lapsed'; delivery: Delivery; lease: Lease }
  /** The record says later than the wake-up did. */
  | { kind: 'early'; delivery: Delivery; dueAt: number }
  /** The record changed between the refusal and now: it could be entered after all. */
  | { kind: 'open' };

/** Reads a refusal off the record that caused it. */
export function refusalOf(attempt: number, current: Delivery | undefined, now: number): Refusal {
  if (current === undefined) return { kind: 'unknown' };
  if (!isOpen(current.status)) return overOf(current);
  if (current.attempts.length >= attempt) return { kind: 'recorded', delivery: current };
  if (current.attempts.length < attempt - 1) return { kind: 'ahead' };
  return heldOf(current, now);
}

function overOf(current: Delivery): Refusal {
  return current.owed.length === 0
    ? { kind: 'finished' }
    : { kind: 'owing', delivery: current, owed: current.owed };
}

function heldOf(current: Delivery, now: number): Refusal {
  const { lease, next } = current;
  if (lease !== undefined) {
    return { kind: lease.until > now ? 'in_flight' : 'lapsed', delivery: current, lease };
  }
  return next !== undefined && next.dueAt > now
    ? { kind: 'early', delivery: current, dueAt: next.dueAt }
    : { kind: 'open' };
}
