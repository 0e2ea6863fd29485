import type { Slot } from '../subscription/rate-limit.ts';
import { newDelivery } from './claim.ts';
import {
  asLastRead,
  createRevised,
  type DeliveryChange,
  type NextAttempt,
  type OpenDelivery,
  renewed,
  revision,
  type Revision,
  type Transition,
  whileLeased,
  type WriteTime,
} from './delivery.ts';
import type { DeliveryJob } from './job.ts';
import { withWaits } from './waits.ts';

/** A rate-limit slot, and when the delivery that waits for it is picked up. */
export type PlaceInLine = { next: NextAttempt; slot: Slot };

/** A new place in the line; `slot` is undefined if the limit was removed and the delivery need not wait. */
export type EarlierPlace = { next: NextAttempt; slot: Slot | undefined };

/**
 * Records that a delivery waits for its slot, without a lease. A first attempt joins the listings and the overdue
 * index; its message is already kept. `owner`: holder of the current lease, if any.
 */
export function awaitSlot(
  delivery: OpenDelivery,
  owner: string | undefined,
  place: PlaceInLine,
  at: WriteTime,
): Revision {
  const expect = owner === undefined ? asLastRead(delivery) : whileLeased(delivery, owner);
  return revision('await_slot', delivery, expect, { ...changeTo(delivery, place, at), lease: null });
}

/** Creates the record of a first attempt that waits for its slot. */
export function openWaiting(job: DeliveryJob, place: PlaceInLine, at: WriteTime): Transition {
  const created = newDelivery(job, at);
  return createRevised(awaitSlot(created, undefined, place, at), created);
}

/** Gives a waiting delivery an earlier slot. */
export function moveUp(delivery: OpenDelivery, { next, slot }: EarlierPlace, at: WriteTime): Transition {
  const change = changeTo(delivery, { next, slot: slot ?? null }, at);
  return revision('move_up', delivery, asLastRead(delivery), change);
}

function changeTo(
  delivery: OpenDelivery,
  { next, slot }: { next: NextAttempt; slot: Slot | null },
  at: WriteTime,
): DeliveryChange {
  // A retry that joined the line early does not wait before it is due.
  const since = slot === null ? undefined : Math.max(at.now, slot.from ?? at.now);
  return {
    status: delivery.status,
    next: withWaits(next, delivery, at.now, since),
    slot,
    overdueAt: next.dueAt,
    ...renewed(delivery, at, next.dueAt),
  };
}
