import { contendedDelivery, withRetriedWrites } from '../../shared/domain/contention.ts';
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
import { keptUntil, writeTime } from '../../shared/steps/retention.ts';
import type { SuccessRecorder } from './chunk.ts';
import { isOwnerBy, leaseFor, type DeliverContext, type Receipt } from './context.ts';
import type { Held } from './held.ts';
import { settleOwed } from './owed.ts';
import { scheduleNext, sendAgain, sendAgainIfEarly } from './wake-up.ts';

export type ClaimResult = { kind: 'claimed'; delivery: Delivery } | Refusal;

/** A refusal that no second claim can overcome now. */
export type Refusal = Exclude<ClaimRefusal, { kind: 'lapsed' | 'claimable_now' }>;

/** Work as it was received. `successes`: of the chunk under whose claim it is attempted. */
export type Claimable = Pick<Held, 'work' | 'receipt'> & { successes?: SuccessRecorder };

/** A member of a chunk needs no claim of its own while it is pending: the claim of the chunk covers it. */
export async function claimAttempt(
  context: DeliverContext,
  { work, receipt, successes }: Claimable,
): Promise<ClaimResult> {
  const delivery = successes?.pending(work.key.subscriptionId);
  return delivery === undefined
    ? claimDelivery(context, work, { kind: 'attempt', lease: leaseFor(context, receipt) })
    : { kind: 'claimed', delivery };
}

export async function claimToCancel(
  context: DeliverContext,
  { work, successes }: Claimable,
  reason: AbsenceReason,
): Promise<ClaimResult> {
  const { ports, settings } = context;
  // What was not sent to a subscription that may come back can be recovered then, so its message has to be there.
  if (reason === 'disabled' || reason === 'subscription_unconfirmed')
    await keepMessage(ports, work, keptUntil(ports.clock.now(), settings));
  const result = await claimDelivery(context, work, { kind: 'cancel', reason });
  successes?.leave(work.key.subscriptionId);
  return result;
}

/**
 * Claims a delivery by one conditional write. Where that is refused, the record that refused it decides; only a lease that
 * ran out, or a record that changed meanwhile, leads to a second write.
 * @throws ContendedError: SQS brings the message back.
 */
async function claimDelivery(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  claim: Claim,
): Promise<ClaimResult> {
  const { deliveries, journal } = context.ports;
  const { key, attempt } = work;
  if (isForLostAttempt(work)) await keepForReconcile(context, work);
  let transition = claimFor(work, claim, writeTime(context));
  const result = await withRetriedWrites<ClaimResult>(async () => {
    const written = await deliveries.write(transition);
    if (written.kind === 'written') return { kind: 'claimed', delivery: written.delivery };
    const at = writeTime(context);
    const refusal = claimRefusal(attempt, written.current, at.now);
    if (refusal.kind === 'claimable_now') {
      transition = claimExisting(work, claim, at);
    } else if (refusal.kind === 'lapsed') {
      transition = takeOver(refusal.delivery, refusal.lease, claim, at);
      if (claim.kind === 'attempt') await keepForReconcile(context, work);
    } else {
      return refusal;
    }
    return 'again';
  });
  if (result === 'again') throw contendedDelivery(key);
  if (result.kind === 'claimed' && transition.name === 'take_over')
    journal.note({ fact: 'lease_lost', key, attempt });
  return result;
}

/** A first attempt that was lost once is in the overdue index, and the wake-ups of reconcile carry no message. */
function keepForReconcile({ ports, settings }: DeliverContext, work: DeliveryJob | WakeUp): Promise<void> {
  return keepMessage(ports, work, keptUntil(ports.clock.now(), settings));
}

/**
 * Does what is left to do where a claim was refused: no attempt is ours to make now. `due_now`: the claim came a moment
 * early, and can be made again.
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
      // It waits for a slot, and the wake-up for that slot brings it about.
      if (hasComeBefore(work, receipt)) await scheduleNext(context, refusal.delivery);
      break;
    case 'recorded':
      if (hasComeBefore(work, receipt)) await scheduleNext(context, refusal.delivery);
      break;
    case 'owing':
      await settleOwed(context, refusal.delivery, await keptBody(context.ports, refusal.delivery));
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
 * Nobody but the holder may make the attempt while its lease runs. This message comes back at the end of the lease where no
 * other one would bring the attempt about soon if the holder is dead: no index finds a first attempt, and the holder's own
 * message, returned after a fault, is deleted by our acknowledgement.
 */
async function leaveToHolder(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  receipt: Receipt,
  { overdueAt, lease }: Delivery,
): Promise<void> {
  const isHoldersOwn = lease !== undefined && isOwnerBy(lease.owner, receipt);
  if (isHoldersOwn || overdueAt === undefined)
    await sendAgain(context, work, lease?.until ?? context.ports.clock.now());
  else noteDropped(context, work, 'in_flight');
}

/**
 * Whether this message was received before and not acknowledged, or is for an attempt that was lost: an invocation may have
 * died before it scheduled the wake-up of what is on record.
 */
function hasComeBefore(work: DeliveryJob | WakeUp, { receiveCount }: Receipt): boolean {
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
