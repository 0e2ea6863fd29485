import type { Slot } from '../subscription/rate-limit.ts';
import { newDelivery } from './claim.ts';
import {
  apply,
  asLastRead,
  type DeliveryChange,
  type Delivery,
  type NextAttempt,
  type Revision,
  type Transition,
  type WriteTime,
} from './delivery.ts';
import type { DeliveryJob } from './job.ts';

/** The slot that a delivery waits for, and when it is looked at for it. */
export type Place = { next: NextAttempt; slot: Slot };

/** The same where its line may be gone: undefined, and it need not wait for any slot. */
export type EarlierPlace = { next: NextAttempt; slot: Slot | undefined };

/**
 * Has a delivery wait for its slot on record, without a lease. From then on a first attempt is listed and in the overdue
 * index like any other; its message is kept by now. `owner`: of the lease on it; undefined: there is none.
 */
export function awaitSlot(
  delivery: Delivery,
  owner: string | undefined,
  place: Place,
  at: WriteTime,
): Revision {
  const recorded = delivery.attempts.length;
  return {
    name: 'await_slot',
    key: delivery.key,
    expect: owner === undefined ? asLastRead(delivery) : { kind: 'leased', recorded, owner },
    change: { ...changeTo(delivery, place, at), lease: null },
  };
}

/** The same for a first attempt of which nothing is on record yet. */
export function openWaiting(job: DeliveryJob, place: Place, at: WriteTime): Transition {
  const created = newDelivery(job, at);
  return {
    name: 'await_slot',
    key: job.key,
    expect: { kind: 'absent' },
    create: apply(changeTo(created, place, at), created),
  };
}

/** Gives a delivery that waits for a slot an earlier one. */
export function moveUp(delivery: Delivery, { next, slot }: EarlierPlace, at: WriteTime): Transition {
  return {
    name: 'move_up',
    key: delivery.key,
    expect: asLastRead(delivery),
    change: changeTo(delivery, { next, slot: slot ?? null }, at),
  };
}

function changeTo(
  { status, expiresAt }: Delivery,
  { next, slot }: { next: NextAttempt; slot: Slot | null },
  at: WriteTime,
): DeliveryChange {
  return {
    status,
    next,
    slot,
    overdueAt: next.dueAt,
    updatedAt: at.now,
    // No later than the claim will say, which would have to be written twice then.
    expiresAt: Math.max(expiresAt, next.dueAt + at.retentionMs),
  };
}
