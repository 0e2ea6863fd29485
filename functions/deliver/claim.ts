import { contended, nameOfDelivery, withRetriedWrites } from '../../shared/domain/contention.ts';
import {
  claimExisting,
  claimFor,
  claimRefusal,
  takeOver,
  type Claim,
  type ClaimRefusal,
} from '../../shared/domain/delivery/claim.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import type { AbsenceReason, DroppedReason } from '../../shared/domain/vocabulary.ts';
import { keepMessage, keptBody } from '../../shared/steps/keep-message.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import type { SuccessRecorder } from './chunk.ts';
import { isOwnedByMessage, leaseFor, type DeliverContext, type Receipt } from './context.ts';
import type { HeldDelivery } from './held.ts';
import { completePendingSteps } from './pending-steps.ts';
import { scheduleNext, sendAgain, sendAgainIfEarly } from './wake-up.ts';

export type ClaimResult = { kind: 'claimed'; delivery: Delivery } | Refusal;

/** A refusal that a second claim cannot overcome now. */
export type Refusal = Exclude<ClaimRefusal, { kind: 'lease_expired' | 'claimable_now' }>;

/** A received job or wake-up. `successes`: the recorder of the chunk whose claim covers the delivery. */
export type ReceivedWork = Pick<HeldDelivery, 'work' | 'receipt'> & { successes?: SuccessRecorder };

/** Claims the attempt. The chunk's claim covers a pending member, so that needs no write. */
export async function claimAttempt(
  context: DeliverContext,
  { work, receipt, successes }: ReceivedWork,
): Promise<ClaimResult> {
  const delivery = successes?.pendingMember(work.key.subscriptionId);
  return delivery === undefined
    ? claimDelivery(context, work, { kind: 'attempt', lease: leaseFor(context, receipt) })
    : { kind: 'claimed', delivery };
}

export async function claimToCancel(
  context: DeliverContext,
  { work, successes }: ReceivedWork,
  reason: AbsenceReason,
): Promise<ClaimResult> {
  // The subscription may become active again; a recovery needs the message then.
  if (reason === 'disabled' || reason === 'subscription_unconfirmed') await keepMessage(context, work);
  const result = await claimDelivery(context, work, { kind: 'cancel', reason });
  successes?.markSeparate(work.key.subscriptionId);
  return result;
}

/**
 * Claims a delivery by one conditional write. If it is refused, the current record decides; a second write follows
 * only after an expired lease or a concurrent change.
 * @throws ContendedError: SQS redelivers the message
 */
async function claimDelivery(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  claim: Claim,
): Promise<ClaimResult> {
  const { deliveries, journal } = context.ports;
  const { key, attempt } = work;
  // Reconcile may wake a lost first attempt, and its wake-ups carry no message.
  if (isForLostAttempt(work)) await keepMessage(context, work);
  let transition = claimFor(work, claim, writeTime(context, work.kind === 'job' ? work : {}));
  const claimNow = async (): Promise<ClaimResult | 'again'> => {
    const written = await deliveries.write(transition);
    if (written.kind === 'written') return { kind: 'claimed', delivery: written.delivery };
    const at = writeTime(context, written.current ?? {});
    const refusal = claimRefusal(attempt, written.current, at.now);
    if (refusal.kind === 'claimable_now') {
      transition = claimExisting(work, claim, at);
    } else if (refusal.kind === 'lease_expired') {
      transition = takeOver(refusal.delivery, refusal.lease, claim, at);
      if (claim.kind === 'attempt') await keepMessage(context, work);
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
 * @throws OwedStepsFailedError
 */
export async function handleRefusal(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  receipt: Receipt,
  refusal: Refusal,
): Promise<'done' | 'due_now'> {
  switch (refusal.kind) {
    case 'early':
      if (work.kind === 'wake_up')
        return (await sendAgainIfEarly(context, work, refusal.dueAt)) ? 'done' : 'due_now';
      // The delivery waits for a rate-limit slot, and the wake-up for that slot starts the attempt.
      if (isRepeated(work, receipt)) await scheduleNext(context, refusal.delivery);
      break;
    case 'recorded':
      if (isRepeated(work, receipt)) await scheduleNext(context, refusal.delivery);
      break;
    case 'owing':
      await completePendingSteps(context, refusal.delivery, await keptBody(context.ports, refusal.delivery));
      break;
    case 'in_flight':
      await leaveToHolder(context, work, receipt, refusal.delivery);
      break;
    case 'unknown':
      noteDropped(context, work, 'no_record');
      break;
    case 'finished':
      noteDropped(context, work, 'finished');
      break;
    case 'ahead':
      noteDropped(context, work, 'stale');
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
  receipt: Receipt,
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
function isRepeated(work: DeliveryJob | WakeUp, { receiveCount }: Receipt): boolean {
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
