import type { CancelReason, TerminalStatus } from '../vocabulary.ts';
import { newDelivery } from './claim.ts';
import { asLastRead, type Delivery, type DeliveryKey, type Transition, type WriteTime } from './delivery.ts';

/** Makes the pending attempt due now. It keeps its number, and with it its place in the round. */
export function retryNow(delivery: Delivery, at: WriteTime): Transition {
  return {
    name: 'retry_now',
    key: delivery.key,
    expect: asLastRead(delivery),
    change: {
      status: delivery.status,
      next: {
        number: delivery.attempts.length + 1,
        phase: 'manual',
        dueAt: at.now,
        by: 'sqs_delay',
      },
      overdueAt: at.now,
      updatedAt: at.now,
      expiresAt: Math.max(delivery.expiresAt, at.now + at.retentionMs),
    },
  };
}

/**
 * Opens another round: numbers run on, policy and budget start anew. What was lost stays counted: a request that may have
 * been made under the number that comes next.
 */
export function reopen(
  delivery: Delivery,
  status: TerminalStatus,
  recoveryId: string | undefined,
  at: WriteTime,
): Transition {
  return {
    name: 'reopen',
    key: delivery.key,
    expect: { kind: 'over', status, recorded: delivery.attempts.length, round: delivery.round },
    change: {
      status: 'retrying',
      reason: null,
      round: delivery.round + 1,
      policy: null,
      next: { number: delivery.attempts.length + 1, phase: 'manual', dueAt: at.now, by: 'sqs_delay' },
      lease: null,
      slot: null,
      ...(recoveryId === undefined ? {} : { recoveries: withRecovery(delivery, recoveryId) }),
      overdueAt: at.now,
      updatedAt: at.now,
      expiresAt: Math.max(delivery.expiresAt, at.now + at.retentionMs),
    },
  };
}

/**
 * A record is paid for by its size at every write, and may not be over 400 KB (DynamoDB quotas). A round adds 101 attempts of
 * some 90 bytes at most; for more of them the message is published again.
 */
const MOST_ATTEMPTS = 400;

export function hasRoomForRound({ attempts }: Delivery): boolean {
  return attempts.length < MOST_ATTEMPTS;
}

/** More than ever run at a time: an order that is received twice belongs to a recovery that still runs. */
const MOST_RECOVERIES = 10;

function withRecovery({ recoveries }: Delivery, recoveryId: string): readonly string[] {
  return [...recoveries, recoveryId].slice(-MOST_RECOVERIES);
}

/**
 * Ends an open delivery. A lease on it is a request that may be in flight and counts as lost, because its result comes too
 * late. The lease stays, so that no round is opened beside that request.
 */
export function cancelOpen(delivery: Delivery, reason: CancelReason, at: WriteTime): Transition {
  return {
    name: 'cancel',
    key: delivery.key,
    expect: asLastRead(delivery),
    change: {
      status: 'cancelled',
      reason,
      next: null,
      overdueAt: null,
      ...(delivery.lease === undefined ? {} : { lost: delivery.lost + 1 }),
      updatedAt: at.now,
      expiresAt: Math.max(delivery.expiresAt, at.now + at.retentionMs),
    },
  };
}

/** Ends a delivery whose job has not been received yet: the record is there first, and the job finds it over. */
export function cancelBeforeFirstAttempt(
  { key, acceptedAt }: { key: DeliveryKey; acceptedAt: number },
  reason: CancelReason,
  at: WriteTime,
): Transition {
  return {
    name: 'cancel',
    key,
    expect: { kind: 'absent' },
    create: { ...newDelivery({ key, acceptedAt }, at), status: 'cancelled', reason },
  };
}
