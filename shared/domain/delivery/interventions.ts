import type { Retained } from '../retention.ts';
import type { CancelReason } from './vocabulary.ts';
import { newDelivery } from './claim.ts';
import {
  asLastRead,
  creation,
  type Delivery,
  type DeliveryKey,
  type EndedDelivery,
  type NextAttempt,
  type OpenDelivery,
  renewed,
  revision,
  type Transition,
  type WriteTime,
} from './delivery.ts';
import { withWaits } from './waits.ts';

/** Makes the pending attempt due now. It keeps its number and its place in the round. */
export function retryNow(delivery: OpenDelivery, at: WriteTime): Transition {
  return revision('retry_now', delivery, asLastRead(delivery), {
    status: delivery.status,
    next: withWaits(dueNow(delivery, at), delivery, at.now),
    overdueAt: at.now,
    ...renewed(delivery, at),
  });
}

/**
 * The delivery of a message that did not match at its acceptance. Its first attempt is due now; it is in the overdue
 * index, because only its wake-up starts it.
 */
export function deliveryByHand(
  of: Retained & { key: DeliveryKey; acceptedAt: number },
  at: WriteTime,
): Delivery {
  const created = newDelivery(of, at);
  return { ...created, next: dueNow(created, at), overdueAt: at.now };
}

function dueNow({ attempts }: Delivery, { now }: WriteTime): NextAttempt {
  return { number: attempts.length + 1, phase: 'manual', dueAt: now, by: 'sqs_delay' };
}

/**
 * Opens another round: attempt numbers continue, the policy and its budget start over. `lost` is kept, because a
 * request may have been made under the next attempt number.
 */
export function reopen(delivery: EndedDelivery, recoveryId: string | undefined, at: WriteTime): Transition {
  const { status, attempts, round, recoveries } = delivery;
  const expect = { kind: 'over', status, recorded: attempts.length, round } as const;
  return revision('reopen', delivery, expect, {
    status: 'retrying',
    round: round + 1,
    policy: null,
    next: dueNow(delivery, at),
    lease: null,
    slot: null,
    ...(recoveryId !== undefined && { recoveries: [...recoveries, recoveryId].slice(-MAX_RECOVERIES) }),
    overdueAt: at.now,
    ...renewed(delivery, at),
  });
}

/**
 * DynamoDB charges each write by record size and limits records to 400 KB (DynamoDB quotas). A round adds up to 101
 * attempts of about 90 bytes. Beyond the limit, publish the message again.
 */
const MAX_ATTEMPTS = 400;

export function hasRoomForRound({ attempts }: Delivery): boolean {
  return attempts.length < MAX_ATTEMPTS;
}

/** Remembered recoveries per delivery. Only a running one can repeat, and fewer than this run at the same time. */
const MAX_RECOVERIES = 10;

/**
 * Cancels an open delivery. A lease means that a request may be in flight: it counts as lost, because its result
 * comes too late. The lease stays, so that no round starts during that request.
 */
export function cancelOpen(delivery: OpenDelivery, reason: CancelReason, at: WriteTime): Transition {
  return revision('cancel', delivery, asLastRead(delivery), {
    status: 'cancelled',
    reason,
    overdueAt: null,
    ...(delivery.lease === undefined ? {} : { lost: delivery.lost + 1 }),
    ...renewed(delivery, at),
  });
}

/** Cancels a delivery before its job is received: the record is created cancelled, so the job does nothing. */
export function cancelBeforeFirstAttempt(
  of: Retained & { key: DeliveryKey; acceptedAt: number },
  reason: CancelReason,
  at: WriteTime,
): Transition {
  return creation('cancel', { ...newDelivery(of, at), status: 'cancelled', reason });
}
