import { type Attempt, endOfAttempt } from './attempt.ts';
import type { CancelReason } from './vocabulary.ts';
import {
  isOpen,
  type DeliveryChange,
  type Delivery,
  type Lease,
  type NextAttempt,
  type PendingStep,
  renewed,
  revision,
  type Revision,
  type StatusChange,
  whileLeased,
  type WriteTime,
} from './delivery.ts';
import { disablingReason, rejectionReason, type Sent } from '../retry/outcome.ts';
import type { RetryPolicy } from '../retry/policy.ts';

/** An attempt to record, and the lease owner that made it. `version`: version of the subscription that was called. */
type CompletedAttempt = {
  delivery: Delivery;
  owner: string;
  attempt: Attempt;
  version?: number | undefined;
};

/** `reply`: absent by pull. A subscriber may accept a message and ask for no others. */
export function recordDelivered(completed: CompletedAttempt, at: WriteTime, reply?: Sent): Revision {
  const steps = reply === undefined ? [] : disablingSteps(reply, completed.version);
  const change = steps.length === 0 ? { overdueAt: null } : { pendingSteps: steps, overdueAt: at.now };
  return recordAttempt(completed, { status: 'delivered', lease: null, ...change }, at);
}

/** Disables the subscription that was called, if the reply asks for it. */
function disablingSteps(reply: Sent, version: number | undefined): PendingStep[] {
  const reason = disablingReason(reply);
  if (reason === undefined) return [];
  return [{ kind: 'disable_subscription', reason, ...(version === undefined ? {} : { version }) }];
}

/**
 * `lease`: set if this invocation makes the retry. The policy is stored, so that later policy changes do not affect
 * a schedule in progress.
 */
export function recordRetry(
  completed: CompletedAttempt,
  { next, policy, lease }: { next: NextAttempt; policy: RetryPolicy; lease: Lease | undefined },
  at: WriteTime,
): Revision {
  const change = {
    status: 'retrying',
    policy,
    next,
    // The attempt used its slot.
    ...(completed.delivery.slot === undefined ? {} : { slot: null }),
    lease: lease ?? null,
    overdueAt: next.dueAt,
  } as const;
  return recordAttempt(completed, change, at, next.dueAt);
}

/** A reply that disables the subscription does so first, so that no other request reaches it meanwhile. */
export function recordRejected(
  completed: CompletedAttempt,
  { policy, reply }: { policy: RetryPolicy | undefined; reply: Sent },
  at: WriteTime,
): Revision {
  const steps: PendingStep[] = [...disablingSteps(reply, completed.version), { kind: 'undeliverable' }];
  const end = { status: 'rejected', reason: rejectionReason(reply), pendingSteps: steps } as const;
  const change = { ...end, lease: null, overdueAt: at.now, ...(policy && { policy }) };
  return recordAttempt(completed, change, at);
}

export function recordExhausted(completed: CompletedAttempt, policy: RetryPolicy, at: WriteTime): Revision {
  const steps: PendingStep[] = [{ kind: 'undeliverable' }, { kind: 'exhausted_event' }];
  const end = { status: 'exhausted', reason: 'retries_exhausted', pendingSteps: steps } as const;
  return recordAttempt(completed, { ...end, lease: null, overdueAt: at.now, policy }, at);
}

/** Its message expires before the next attempt is due. */
export function recordExpired(completed: CompletedAttempt, policy: RetryPolicy, at: WriteTime): Revision {
  const end = { status: 'cancelled', reason: 'message_expired' } as const;
  return recordAttempt(completed, { ...end, lease: null, overdueAt: null, policy }, at);
}

function recordAttempt(
  { delivery, owner, attempt }: CompletedAttempt,
  change: StatusChange & Pick<DeliveryChange, 'lease' | 'overdueAt' | 'policy'>,
  at: WriteTime,
  dueAt?: number,
): Revision {
  const expect = { kind: 'leased', recorded: attempt.number - 1, owner } as const;
  return revision('record', delivery, expect, {
    ...change,
    lost: 0,
    appendAttempt: attempt,
    ...renewed(delivery, at, dueAt),
  });
}

/** Each late result follows a crash or a cancellation. More add no information, and the record must stay small. */
const MAX_LATE_RESULTS = 50;

/**
 * Records a result that arrived after its lease was lost; a success still ends the delivery. A lease that another
 * invocation holds now stays, so that no round starts during its request.
 */
export function recordLateResult(current: Delivery, attempt: Attempt, at: WriteTime): Revision {
  const isDecisive = attempt.outcome === 'delivered' && current.status !== 'delivered';
  const expect = { kind: isDecisive ? 'undelivered' : 'present' } as const;
  return revision('record_late', current, expect, {
    ...(isDecisive ? { status: 'delivered' as const, pendingSteps: [], overdueAt: null } : {}),
    ...(isDecisive || current.lateResults.length < MAX_LATE_RESULTS ? { appendLateResult: attempt } : {}),
    ...renewed(current, at),
  });
}

/** Cancels a delivery under the caller's lease, without an attempt. */
export function cancelLeased(
  delivery: Delivery,
  owner: string,
  reason: CancelReason,
  at: WriteTime,
): Revision {
  return revision('cancel', delivery, whileLeased(delivery, owner), {
    status: 'cancelled',
    reason,
    lease: null,
    overdueAt: null,
    ...renewed(delivery, at),
  });
}

/** Releases the lease without an attempt: no request was sent, so none counts as lost. */
export function release(delivery: Delivery, owner: string, at: WriteTime): Revision {
  return revision('release', delivery, whileLeased(delivery, owner), {
    lease: null,
    ...renewed(delivery, at),
  });
}

/** Removes completed steps from the pending steps of an ended delivery. */
export function settle(delivery: Delivery, done: readonly PendingStep[], at: WriteTime): Revision {
  const left = delivery.pendingSteps.filter((step) => !done.includes(step));
  const expect = { kind: 'steps_as_read', pendingSteps: delivery.pendingSteps } as const;
  return revision('settle', delivery, expect, {
    pendingSteps: left,
    ...(left.length === 0 ? { overdueAt: null } : {}),
    ...renewed(delivery, at),
  });
}

/** End of the last attempt, in milliseconds since the epoch; stable across later writes. */
export function endOfLastAttempt({ attempts, updatedAt }: Delivery): number {
  const last = attempts.at(-1);
  return last === undefined ? updatedAt : endOfAttempt(last);
}

/**
 * Time before reconcile wakes the same delivery again, so that it does not multiply a backlog
 * (docs/retry-policy.md#from-delay-to-wake-up).
 */
const POSTPONED_MS = 15 * 60 * 1000;

/** The same if the wake-up could not be sent, so that all are sent soon after an outage of SQS. */
export const UNSENT_MS = 4 * 60 * 1000;

/**
 * Whether an earlier wake-up by reconcile had no effect. `overdueAt`: the index key as found; only reconcile moves it
 * this far from the due time.
 */
export function wasAlreadyPostponed(delivery: Delivery, overdueAt: number): boolean {
  return overdueAt - computeOverdueAt(delivery) >= POSTPONED_MS;
}

/**
 * Time of a delivery in the overdue index: its next attempt, the lease of a first or of a received attempt, or its end.
 */
function computeOverdueAt(delivery: Delivery): number {
  if (delivery.lease?.receivedAt !== undefined) return delivery.lease.until;
  return (
    delivery.next?.dueAt ??
    (isOpen(delivery) ? (delivery.lease?.until ?? delivery.acceptedAt) : endOfLastAttempt(delivery))
  );
}

/**
 * A delivery as the overdue index shows it. `overdueAt`: when it was due, or since when its subscriber can receive it.
 */
export type OverdueDelivery = { key: Delivery['key']; overdueAt: number };

/**
 * reconcile's claim on an overdue delivery: the run that moves the index key sends the wake-up. The expiry moves with
 * the key.
 */
export function postpone(
  found: OverdueDelivery,
  { now }: Pick<WriteTime, 'now'>,
  byMs = POSTPONED_MS,
): Revision {
  const overdueAt = now + byMs;
  const expect = { kind: 'overdue_at', overdueAt: found.overdueAt } as const;
  const expiresLaterBy = overdueAt - found.overdueAt;
  return revision('postpone', found, expect, { overdueAt, updatedAt: now, expiresLaterBy });
}
