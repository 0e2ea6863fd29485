import { contended, withRetriedWrites } from '../../shared/domain/contention.ts';
import {
  claimExisting,
  claimFor,
  claimRefusal,
  takeOver,
  type Claim,
  type ClaimRefusal,
} from '../../shared/domain/delivery/claim.ts';
import {
  isOpen,
  type Delivery,
  type OpenDelivery,
  type Revision,
  nameOfDelivery,
} from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { requestAndRecordingMs } from '../../shared/domain/retry/attempt-duration.ts';
import { cancelLeased, release } from '../../shared/domain/delivery/transitions.ts';
import type { Slot } from '../../shared/domain/subscription/rate-limit.ts';
import type { CancelReason, DroppedReason } from '../../shared/domain/delivery/vocabulary.ts';
import type { Deliveries } from '../../shared/ports/deliveries.ts';
import { keepMessage, keptBody } from '../../shared/steps/keep-message.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import { isOwnedByMessage, leaseFor, type DeliverContext, type SqsReceipt } from './context.ts';
import { completePendingSteps } from './pending-steps.ts';
import { returnAtLeaseEnd, scheduleNext, sendAgain, sendAgainIfEarly, sleepUntil } from './wake-up.ts';

/** A received job or wake-up. */
export type ReceivedWork = { work: DeliveryJob | WakeUp; receipt: SqsReceipt };

/** Writes under the lease: the records of deliveries, or a chunk while its claim covers the delivery. */
export type LeasedRecords = Pick<Deliveries, 'write'> & {
  /** Of a chunk, whose members share a message. */
  keepMessage?: (work: DeliveryJob | WakeUp) => Promise<void>;
};

/** A delivery whose lease this invocation holds. */
export type LeasedDelivery = ReceivedWork & {
  delivery: OpenDelivery;
  records: LeasedRecords;
  /** The rate-limit slot reserved before the claim. */
  slot?: Slot | undefined;
};

type ClaimResult = { kind: 'claimed'; delivery: Delivery } | Refusal;

/** A refusal that a second claim cannot overcome now. */
export type Refusal = Exclude<ClaimRefusal, { kind: 'lease_expired' | 'claimable_now' }>;

/**
 * Claims the next attempt of one delivery. `due_now`: the claim came slightly early; the delivery is due now, and the
 * caller repeats the claim. `done`: refused; this invocation makes no attempt.
 * @throws ContendedError, PendingStepsFailedError
 */
export async function claimAttempt(
  context: DeliverContext,
  { work, receipt }: ReceivedWork,
): Promise<LeasedDelivery | 'done' | 'due_now'> {
  const result = await claim(context, work, { kind: 'attempt', lease: leaseFor(context, receipt) });
  if (result.kind !== 'claimed') return handleRefusal(context, work, receipt, result);
  const { delivery } = result;
  // A claim for an attempt leaves the delivery open.
  return isOpen(delivery) ? { work, receipt, delivery, records: context.ports.deliveries } : 'done';
}

/**
 * Cancels a delivery in place of its next attempt, by one write. `canReturn`: whether its subscription may be active
 * again; a recovery needs the message then.
 * @throws ContendedError, PendingStepsFailedError
 */
export async function cancelUnclaimed(
  context: DeliverContext,
  { work, receipt }: ReceivedWork,
  { reason, canReturn }: { reason: CancelReason; canReturn: boolean },
): Promise<'cancelled' | 'done' | 'due_now'> {
  if (canReturn) await keepMessage(context, work);
  const result = await claim(context, work, { kind: 'cancel', reason });
  if (result.kind !== 'claimed') return handleRefusal(context, work, receipt, result);
  context.ports.journal.note({ fact: 'delivery_cancelled', key: work.key, reason });
  return 'cancelled';
}

/**
 * Claims a delivery by one conditional write. If it is refused, the current record decides; a second write follows
 * only after an expired lease or a concurrent change.
 * @throws ContendedError: SQS redelivers the message
 */
async function claim(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  wanted: Claim,
): Promise<ClaimResult> {
  const { deliveries, journal } = context.ports;
  const { key, attempt } = work;
  // Reconcile may wake a lost first attempt, and its wake-ups carry no message.
  if (isForLostAttempt(work)) await keepMessage(context, work);
  let transition = claimFor(work, wanted, writeTime(context, work.kind === 'job' ? work : {}));
  const claimNow = async (): Promise<ClaimResult | 'again'> => {
    const written = await deliveries.write(transition);
    if (written.kind === 'written') return { kind: 'claimed', delivery: written.delivery };
    const at = writeTime(context, written.current ?? {});
    const refusal = claimRefusal(attempt, written.current, at.now);
    if (refusal.kind === 'claimable_now') {
      transition = claimExisting(work, wanted, at);
    } else if (refusal.kind === 'lease_expired') {
      transition = takeOver(refusal.delivery, refusal.lease, wanted, at);
      if (wanted.kind === 'attempt') await keepMessage(context, work);
    } else {
      return refusal;
    }
    return 'again';
  };
  const result = await withRetriedWrites(claimNow, contended(nameOfDelivery(key)));
  if (result.kind === 'claimed' && transition.name === 'take_over')
    journal.note({ fact: 'lease_lost', key, attempt });
  return result;
}

/**
 * Handles a refused claim. Returns `due_now` if the claim came slightly early and can be repeated now; otherwise this
 * invocation makes no attempt.
 * @throws PendingStepsFailedError
 */
export async function handleRefusal(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  receipt: SqsReceipt,
  refusal: Refusal,
): Promise<'done' | 'due_now'> {
  switch (refusal.kind) {
    case 'early':
      if (work.kind === 'wake_up') {
        if (await sendAgainIfEarly(context, work, refusal.dueAt)) return 'done';
        await sleepUntil(refusal.dueAt, context.ports.clock);
        return 'due_now';
      }
      // The delivery waits for a rate-limit slot, and the wake-up for that slot starts the attempt.
      if (isRepeated(work, receipt)) await scheduleNext(context, refusal.delivery);
      break;
    case 'recorded':
      if (isRepeated(work, receipt)) await scheduleNext(context, refusal.delivery);
      break;
    case 'unfinished':
      await completePendingSteps(context, refusal.delivery, await keptBody(context.ports, refusal.delivery));
      break;
    case 'in_flight':
      await leaveToHolder(context, work, receipt, refusal.delivery);
      break;
    case 'dropped':
      noteDropped(context, work, refusal.reason);
      break;
  }
  return 'done';
}

/**
 * Only the lease holder makes the attempt while the lease runs. The message returns at the lease's end if nothing
 * else would restart the attempt after the holder crashes: the overdue index has no first attempts, and acknowledging
 * a redelivered message deletes the holder's copy.
 */
async function leaveToHolder(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  receipt: SqsReceipt,
  { overdueAt, lease }: Delivery,
): Promise<void> {
  const isHoldersMessage = lease !== undefined && isOwnedByMessage(lease.owner, receipt);
  if (isHoldersMessage || overdueAt === undefined)
    await sendAgain(context, work, lease?.until ?? context.ports.clock.now());
  else noteDropped(context, work, 'in_flight');
}

/**
 * Whether an earlier receive was not acknowledged, or an attempt was lost: an invocation may have crashed before it
 * scheduled the recorded next attempt.
 */
function isRepeated(work: DeliveryJob | WakeUp, { receiveCount }: SqsReceipt): boolean {
  return receiveCount > 1 || isForLostAttempt(work);
}

function isForLostAttempt(work: DeliveryJob | WakeUp): boolean {
  return work.kind === 'job' && work.lost !== undefined;
}

function noteDropped(
  { ports }: DeliverContext,
  { key, attempt }: DeliveryJob | WakeUp,
  reason: DroppedReason,
): void {
  ports.journal.note({ fact: 'wake_up_dropped', key, attempt, reason });
}

/**
 * Whether a request that begins after `waitMs` and uses its full timeout can still be recorded, within both the lease and
 * the invocation.
 */
export function hasTimeForRequest(
  { ports, settings }: DeliverContext,
  { delivery, receipt }: LeasedDelivery,
  waitMs = 0,
): boolean {
  const leftMs = Math.min((delivery.lease?.until ?? 0) - ports.clock.now(), receipt.remainingMs());
  return leftMs - waitMs >= requestAndRecordingMs(settings.attemptTimeoutMs);
}

/**
 * Writes a transition that ends the lease. Undefined: the lease was lost, and the delivery continues or ended
 * elsewhere.
 */
export async function endLease(
  context: DeliverContext,
  { work, records }: LeasedDelivery,
  transition: Revision,
): Promise<Delivery | undefined> {
  const result = await records.write(transition);
  if (result.kind === 'written') return result.delivery;
  await returnAtLeaseEnd(context, work, result.current);
  return undefined;
}

/** Releases the lease after a fault before the request. The attempt does not count as lost, and can start at once. */
export async function releaseLease(context: DeliverContext, held: LeasedDelivery): Promise<void> {
  const { delivery, receipt, records } = held;
  await records.write(release(delivery, receipt.owner, writeTime(context, delivery)));
}

/** Releases the lease and sends the work again, because too little time is left for a request. */
export async function postponeAttempt(context: DeliverContext, held: LeasedDelivery): Promise<void> {
  const { work, receipt, delivery } = held;
  const attempt = delivery.attempts.length + 1;
  context.ports.journal.note({ fact: 'sent_again', key: delivery.key, attempt });
  const at = writeTime(context, delivery);
  const released = await endLease(context, held, release(delivery, receipt.owner, at));
  if (released === undefined) return;
  if (delivery.next === undefined) await sendAgain(context, work, at.now);
  else await scheduleNext(context, released);
}

/** Cancels a held delivery without an attempt. */
export async function cancelHeld(
  context: DeliverContext,
  held: LeasedDelivery,
  reason: CancelReason,
): Promise<void> {
  const { delivery, receipt } = held;
  const transition = cancelLeased(delivery, receipt.owner, reason, writeTime(context, delivery));
  if ((await endLease(context, held, transition)) !== undefined)
    context.ports.journal.note({ fact: 'delivery_cancelled', key: delivery.key, reason });
}

/** Dead-letters a message that no longer exists although no caller erased it, and cancels its delivery. */
export async function cancelWithoutMessage(context: DeliverContext, held: LeasedDelivery): Promise<void> {
  const { deadLetters, journal } = context.ports;
  const { id, text } = held.receipt;
  const reason = 'body_missing';
  await deadLetters.send({ id, body: text }, reason);
  journal.note({ fact: 'dead_lettered', id, reason, key: held.work.key });
  await cancelHeld(context, held, reason);
}
