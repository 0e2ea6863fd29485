import { DAY_MS } from '../duration.ts';
import { computeRetention, type Retained } from '../retention.ts';
import type { RenderFault } from '../message/payload.ts';
import type { RetryPolicy } from '../retry/policy.ts';
import type { Outcome } from '../retry/vocabulary.ts';
import type { CancelReason, DroppedReason } from './vocabulary.ts';
import { type Attempt, type AttemptResult, withBoundedText } from './attempt.ts';
import { newDelivery } from './claim.ts';
import { decide } from './decide.ts';
import {
  asLastRead,
  createRevised,
  isOpen,
  type Delivery,
  type DeliveryChange,
  type EndedDelivery,
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
import type { Waiting } from './paused.ts';
import type { OverdueDelivery } from './transitions.ts';
import { waitedUntil, withWaits } from './waits.ts';

/** Bounds of a receive: deliveries, and seconds until a received delivery that was not acknowledged has failed. */
export const RECEIVE_MAX = { least: 1, most: 100, default: 10 };
export const RECEIVE_LEASE_SECONDS = { least: 5, most: 3600, default: 60 };

/** Characters of the error that a subscriber gives. */
export const MAX_NACK_ERROR = 256;

/** Creates the record of a first attempt that waits for its subscriber. Its message is already kept. */
export function openForPull(job: DeliveryJob, at: WriteTime): Transition {
  // A chunk's claim that was lost made no request to this subscriber.
  const created = newDelivery({ ...job, lost: 0 }, at);
  return createRevised(awaitPull(created, { number: 1, phase: 'initial', dueAt: at.now }, at), created);
}

/** Lets a delivery that was woken for its next attempt wait for its subscriber. */
export function awaitPull(delivery: OpenDelivery, next: Omit<NextAttempt, 'by'>, at: WriteTime): Revision {
  return revision('await_pull', delivery, asLastRead(delivery), {
    status: delivery.status,
    next: withWaits({ ...next, by: 'pull' }, delivery, next.dueAt),
    slot: null,
    overdueAt: next.dueAt,
    ...renewed(delivery, at),
  });
}

/**
 * Gives a waiting delivery to its subscriber. Refused if it changed since the index was read. From then on reconcile
 * finds it at the end of the lease.
 */
export function receive(
  found: OverdueDelivery,
  lease: Required<Lease>,
  { now }: Pick<WriteTime, 'now'>,
): Revision {
  const change = { lease, lapsed: null, overdueAt: lease.until, updatedAt: now };
  return changeWaiting('claim', found, change, lease.until);
}

/**
 * How long a delivery waits for its subscriber at most, in milliseconds. Its end stays on record as long again, so that a
 * recovery still finds it with its data.
 */
export function longestWaitMs(retentionMs: number): number {
  return retentionMs / 2;
}

/**
 * The retention of a delivery while it waits for its subscriber. The longest wait is the same in all queues, because
 * reconcile ends it by the index alone; only the half after it is that of the queue.
 */
export function retainedForPull(of: Retained, deployment: Pick<WriteTime, 'retentionMs'>): Retained {
  if (of.retentionDays === undefined) return of;
  const ms = longestWaitMs(deployment.retentionMs) + longestWaitMs(computeRetention(of, deployment));
  return { retentionDays: ms / DAY_MS };
}

/** Cancels a waiting delivery that cannot be received any more. */
export function cancelWaiting(
  found: OverdueDelivery,
  reason: CancelReason,
  { now }: Pick<WriteTime, 'now'>,
): Revision {
  const end = { status: 'cancelled', reason, overdueAt: null, updatedAt: now } as const;
  return changeWaiting('cancel', found, end, now);
}

/** The expiry counts from `until` in place of the time for which the index has the delivery. */
function changeWaiting(
  name: 'claim' | 'cancel',
  found: OverdueDelivery,
  change: DeliveryChange,
  until: number,
): Revision {
  const { overdueAt } = found;
  const expiresLaterBy = Math.max(0, until - overdueAt);
  return revision(name, found, { kind: 'overdue_at', overdueAt }, { ...change, expiresLaterBy });
}

/**
 * Whether a record waits until its subscriber receives it; takes a change as well. Such a delivery is found by
 * subscription, and not by reconcile.
 */
export function isReceivable({ next, lease }: Waiting): boolean {
  return next?.by === 'pull' && (lease === undefined || lease === null);
}

/** What the subscriber did with a received delivery. */
export type PullResult = Extract<AttemptResult, { kind: 'acknowledged' | 'refused' | 'lapsed' }>;

/** The result of a receive; `unrendered`: the subscriber got nothing. */
export type ReceiveResult = PullResult | Extract<AttemptResult, { kind: 'unrendered' }>;

/** A delivery that its subscriber received. */
export type ReceivedDelivery = Delivery & { lease: Lease };

const OUTCOMES = {
  acknowledged: 'delivered',
  refused: 'failed',
  lapsed: 'failed',
  unrendered: 'rejected',
} as const satisfies Record<ReceiveResult['kind'], Outcome>;

/**
 * The attempt that ends with this result. It began when the delivery was received, and has no due time: its subscriber
 * is never late.
 */
export function buildAttempt(delivery: ReceivedDelivery, result: ReceiveResult, now: number): Attempt {
  const { attempts, round, next, lost, lease, updatedAt } = delivery;
  const startedAt = lease.receivedAt ?? updatedAt;
  const endedAt = result.kind === 'lapsed' ? lease.until : now;
  return {
    number: attempts.length + 1,
    round,
    phase: next?.phase ?? 'initial',
    ...waitedUntil(delivery, startedAt),
    startedAt,
    durationMs: Math.max(0, endedAt - startedAt),
    outcome: OUTCOMES[result.kind],
    result: withBoundedText(result, attempts),
    ...(lost > 0 ? { lost } : {}),
  };
}

/**
 * The attempt of a receive that was acknowledged after its lease had ended: what its subscriber did is done. Undefined
 * where the receipt's lease was not the last to end without an answer, or the delivery was received again.
 */
export function lateAcknowledgement(
  { attempts, lease, lapsed }: Delivery,
  receipt: { owner: string; attempt: number },
  now: number,
): Attempt | undefined {
  const lapse = attempts.at(-1);
  if (lapse === undefined || lapse.number !== receipt.attempt) return undefined;
  if (lease !== undefined || lapsed?.owner !== receipt.owner) return undefined;
  const durationMs = Math.max(0, now - lapse.startedAt);
  return { ...lapse, outcome: 'delivered', result: { kind: 'acknowledged' }, durationMs };
}

/** Records the attempt of a received delivery; after a failure it waits for its subscriber again, or is exhausted. */
export function recordReceived(
  delivery: ReceivedDelivery,
  { attempt, policy }: { attempt: Attempt; policy: RetryPolicy },
  at: WriteTime,
): Revision {
  const { owner } = delivery.lease;
  const revision = decide({ kind: 'pull', delivery, owner, attempt, policy }, at);
  return attempt.result.kind === 'lapsed'
    ? { ...revision, change: { ...revision.change, lapsed: delivery.lease } }
    : revision;
}

/** Ends a delivery whose payload could not be rendered. */
export function recordUnrendered(
  delivery: ReceivedDelivery,
  { attempt, fault }: { attempt: Attempt; fault: RenderFault },
  at: WriteTime,
): Revision {
  return decide({ kind: 'unrendered', delivery, owner: delivery.lease.owner, attempt, fault }, at);
}

/** What deliver does with a delivery that its subscriber fetches. */
export type PullStep =
  /** Nothing. No reason: it waits already. */
  | { kind: 'none'; dropped?: DroppedReason }
  /** It ended, with pending steps. */
  | { kind: 'unfinished'; delivery: EndedDelivery }
  /** It is woken for its next attempt, or reconcile moved it: it waits for its subscriber from now on. */
  | { kind: 'await'; delivery: OpenDelivery; next: NextAttempt }
  | { kind: 'lapsed'; delivery: ReceivedDelivery };

export function decidePullStep(current: Delivery | undefined, now: number): PullStep {
  if (current === undefined) return { kind: 'none', dropped: 'no_record' };
  if (!isOpen(current))
    return current.pendingSteps.length === 0
      ? { kind: 'none', dropped: 'finished' }
      : { kind: 'unfinished', delivery: current };
  const { lease, next } = current;
  if (lease !== undefined)
    return lease.until > now
      ? { kind: 'none', dropped: 'in_flight' }
      : { kind: 'lapsed', delivery: { ...current, lease } };
  return next === undefined || waitsInPlace(current)
    ? { kind: 'none' }
    : { kind: 'await', delivery: current, next };
}

/** False where a reconcile that read the index late moved it among the overdue, where no subscriber finds it. */
function waitsInPlace(delivery: OpenDelivery): boolean {
  return isReceivable(delivery) && delivery.overdueAt === delivery.next?.dueAt;
}
