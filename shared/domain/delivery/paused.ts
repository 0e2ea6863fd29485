import { MINUTE_MS } from '../duration.ts';
import type { PausedBy } from '../subscription/vocabulary.ts';
import type { SubscriptionKey } from '../subscription/subscription.ts';
import { newDelivery } from './claim.ts';
import {
  asLastRead,
  createRevised,
  type Delivery,
  isOpen,
  isPause,
  type Lease,
  type NextAttempt,
  type OpenDelivery,
  renewed,
  revision,
  type Revision,
  type Transition,
  type WriteTime,
} from './delivery.ts';
import type { DeliveryJob } from './job.ts';
import { withWaits } from './waits.ts';

/** Where deliveries wait on record, without a wake-up: of a subscription or, without `subscriptionId`, of a paused queue. */
export type WaitingPlace = { queue: string; subscriptionId?: string };

/** Of a record or of a change. */
export type Waiting = { next?: NextAttempt | null | undefined; lease?: Lease | null | undefined };

/**
 * Where a record waits for its subscriber or for the end of a pause; undefined: it does not, and reconcile finds it. Takes a
 * change as well.
 */
export function findWaitingPlace(
  { queue, subscriptionId }: SubscriptionKey,
  { next, lease }: Waiting,
): WaitingPlace | undefined {
  if (next === undefined || next === null || (lease !== undefined && lease !== null)) return undefined;
  switch (next.by) {
    case 'pull':
    case 'subscription_pause':
      return { queue, subscriptionId };
    case 'queue_pause':
      return { queue };
    case 'same_invocation':
    case 'sqs_delay':
    case 'scheduler':
      return undefined;
  }
}

/** Whether a record waits for the end of a pause. Then only its operation makes it due. */
export function isPaused({ next, lease }: Waiting): boolean {
  return isPause(next) && (lease === undefined || lease === null);
}

/** Creates the record of a first attempt that waits for the end of a pause. Its message is already kept. */
export function openPaused(job: DeliveryJob, by: PausedBy, at: WriteTime): Transition {
  const created = newDelivery(job, at);
  return createRevised(awaitResume(created, by, asLastRead(created), at), created);
}

/**
 * Lets a delivery wait for the end of a pause in place of its next attempt. `expect`: that it is leased by the caller, or
 * as it was read. A request under an expired lease counts as lost. Its place in the index is by acceptance, so that what
 * waited is sent in this order.
 */
export function awaitResume(
  delivery: OpenDelivery,
  by: PausedBy,
  expect: Revision['expect'],
  at: WriteTime,
): Revision {
  const { next = { number: delivery.attempts.length + 1, phase: 'initial', dueAt: at.now } } = delivery;
  const isLost = expect.kind === 'lease_expired';
  return revision('await_resume', delivery, expect, {
    status: delivery.status,
    next: withWaits({ ...next, by: `${by}_pause` }, delivery, at.now, at.now),
    slot: null,
    lease: null,
    ...(isLost && { lost: delivery.lost + 1 }),
    overdueAt: delivery.acceptedAt,
    ...renewed(delivery, at),
  });
}

/** How long a delivery waits at most: operate looks every quarter of an hour, and its record must not expire before. */
export function longestPauseMs(retentionMs: number): number {
  return retentionMs - 60 * MINUTE_MS;
}

/** A delivery whose wait for the end of a pause can end. */
export type EndableWait = OpenDelivery & { next: NextAttempt };

/** Of an earlier version it can have a lease, which has expired. */
export function isEndableWait(delivery: Delivery, now: number): delivery is EndableWait {
  const { next, lease } = delivery;
  return isOpen(delivery) && isPause(next) && (lease === undefined || lease.until <= now);
}

/** Makes a delivery that waited for the end of a pause due, not before its policy says. From then on reconcile finds it. */
export function endWait(delivery: EndableWait, from: number, at: WriteTime): Revision {
  const { next, lease, lost } = delivery;
  const dueAt = Math.max(from, next.dueAt);
  return revision('end_wait', delivery, asLastRead(delivery), {
    status: delivery.status,
    next: withWaits({ ...next, dueAt, by: 'sqs_delay' }, delivery, dueAt),
    ...(lease && { lease: null, lost: lost + 1 }),
    overdueAt: dueAt,
    ...renewed(delivery, at, dueAt),
  });
}
