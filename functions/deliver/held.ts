import type { AttemptTrigger, CancelReason } from '../../shared/domain/vocabulary.ts';
import { firstSuccessOf } from '../../shared/domain/delivery/chunk-members.ts';
import { apply, type Delivery, type Revision } from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { requestAndRecordingMs } from '../../shared/domain/delivery/lease.ts';
import { cancelLeased, release } from '../../shared/domain/delivery/transitions.ts';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import type { Slot } from '../../shared/domain/subscription/rate-limit.ts';
import type { Queue, Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { WriteResult } from '../../shared/ports/deliveries.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import type { SuccessRecorder } from './chunk.ts';
import type { DeliverContext, Receipt } from './context.ts';
import { returnAtLeaseEnd } from './wake-up.ts';

/** A delivery whose lease this invocation holds. */
export type HeldDelivery = {
  work: DeliveryJob | WakeUp;
  receipt: Receipt;
  delivery: Delivery;
  /** The recorder of the chunk whose claim covers the delivery; undefined for a single delivery. */
  successes: SuccessRecorder | undefined;
  /** The rate-limit slot reserved before the claim. */
  slot?: Slot | undefined;
};

/** A held delivery with what was read for the attempt. A deleted queue or subscription is undefined. */
export type LoadedDelivery = HeldDelivery & {
  queue: Queue | undefined;
  subscription: Subscription | undefined;
  message: Message;
  /** Where the message is stored. */
  body: BodyLocation;
  /** What triggered this attempt; undefined: the message itself. */
  trigger: AttemptTrigger | undefined;
};

/** Time left in both the lease and the invocation, in milliseconds. */
export function timeLeftMs({ ports }: DeliverContext, { delivery, receipt }: HeldDelivery): number {
  return Math.min((delivery.lease?.until ?? 0) - ports.clock.now(), receipt.remainingMs());
}

/** Whether a request that uses its full timeout can still be recorded within `leftMs`. */
export function hasTimeForRequest({ settings }: DeliverContext, leftMs: number): boolean {
  return leftMs >= requestAndRecordingMs(settings.attemptTimeoutMs);
}

/**
 * Writes a transition of a held delivery. A chunk member's first success is recorded in the chunk; any other
 * transition creates a separate record for it.
 */
export async function writeHeld(
  { ports }: DeliverContext,
  { delivery, successes }: HeldDelivery,
  transition: Revision,
): Promise<WriteResult> {
  const { subscriptionId } = delivery.key;
  if (successes?.pendingMember(subscriptionId) === undefined) return ports.deliveries.write(transition);
  const success = firstSuccessOf(transition);
  if (success !== undefined && (await successes.record(subscriptionId, success)))
    return { kind: 'written', delivery: apply(transition.change, delivery) };
  const { name, key, change } = transition;
  const create = apply(change, delivery);
  const result = await ports.deliveries.write({ name, key, expect: { kind: 'absent' }, create });
  successes.markSeparate(subscriptionId);
  // Refused: the API created the record meanwhile, with the same lease or already cancelled. Its condition decides.
  return result.kind === 'refused' ? ports.deliveries.write(transition) : result;
}

/**
 * Writes a transition that ends the lease. Undefined: the lease was lost, and the delivery continues or ended
 * elsewhere.
 */
export async function endHeld(
  context: DeliverContext,
  held: HeldDelivery,
  transition: Revision,
): Promise<Delivery | undefined> {
  const result = await writeHeld(context, held, transition);
  if (result.kind === 'written') return result.delivery;
  await returnAtLeaseEnd(context, held.work, result.current);
  return undefined;
}

/**
 * Runs `step`, and releases the lease if it throws and no request was sent. The attempt then does not count as lost
 * and need not wait for the lease to end. `wasNotSent`: whether the error means that no request was sent.
 */
export async function releaseOnFault<Result>(
  context: DeliverContext,
  held: HeldDelivery,
  step: () => Promise<Result>,
  wasNotSent: (fault: unknown) => boolean = () => true,
): Promise<Result> {
  try {
    return await step();
  } catch (fault) {
    if (wasNotSent(fault))
      await writeHeld(
        context,
        held,
        release(held.delivery, held.receipt.owner, writeTime(context, held.delivery)),
      );
    throw fault;
  }
}

/** Cancels a held delivery without an attempt. */
export async function cancelHeld(
  context: DeliverContext,
  held: HeldDelivery,
  reason: CancelReason,
): Promise<void> {
  const { delivery, receipt } = held;
  const transition = cancelLeased(delivery, receipt.owner, reason, writeTime(context, delivery));
  if ((await endHeld(context, held, transition)) !== undefined)
    context.ports.journal.note({ fact: 'delivery_cancelled', key: delivery.key, reason });
}
