import type { AttemptTrigger, CancelReason } from '../../shared/domain/vocabulary.ts';
import { firstSuccessOf } from '../../shared/domain/delivery/chunk-members.ts';
import { apply, type Delivery, type Revision } from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { requestMs } from '../../shared/domain/delivery/lease.ts';
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

/** A delivery whose lease we hold. */
export type Held = {
  work: DeliveryJob | WakeUp;
  receipt: Receipt;
  delivery: Delivery;
  /** Of the chunk under whose claim it is attempted, if it is attempted together with others. */
  successes: SuccessRecorder | undefined;
  /** Reserved before the claim, where its subscription limits the rate. */
  slot?: Slot | undefined;
};

/** The same with what was read for the attempt. Either of queue and subscription may be undefined because it is gone. */
export type Loaded = Held & {
  queue: Queue | undefined;
  subscription: Subscription | undefined;
  message: Message;
  /** Where the message came from. */
  body: BodyLocation;
  /** What brought the attempt at hand about; undefined: the message itself. */
  broughtBy: AttemptTrigger | undefined;
};

/** What is left of the lease and of the invocation, in milliseconds. */
export function timeLeftMs({ ports }: DeliverContext, { delivery, receipt }: Held): number {
  return Math.min((delivery.lease?.until ?? 0) - ports.clock.now(), receipt.remainingMs());
}

/** Whether a request sent now can be answered, however late, and recorded within `leftMs`. */
export function hasTimeForRequest({ settings }: DeliverContext, leftMs: number): boolean {
  return leftMs >= requestMs(settings.attemptTimeoutMs);
}

/**
 * Writes what happened to a delivery that we hold. While it has no record but its chunk's, a first success is recorded
 * there; anything else gives it a record of its own.
 */
export async function writeHeld(
  { ports }: DeliverContext,
  { delivery, successes }: Held,
  transition: Revision,
): Promise<WriteResult> {
  const { subscriptionId } = delivery.key;
  if (successes?.pending(subscriptionId) === undefined) return ports.deliveries.write(transition);
  const success = firstSuccessOf(transition);
  if (success !== undefined && (await successes.record(subscriptionId, success)))
    return { kind: 'written', delivery: apply(transition.change, delivery) };
  const { name, key, change } = transition;
  const create = apply(change, delivery);
  const result = await ports.deliveries.write({ name, key, expect: { kind: 'absent' }, create });
  successes.leave(subscriptionId);
  // It was given a record by hand meanwhile, with our lease still on it, or was ended: then that record decides.
  return result.kind === 'refused' ? ports.deliveries.write(transition) : result;
}

/**
 * Writes what ends our hold on a delivery. Undefined: the lease is not ours any more, and the delivery goes on, or has
 * ended, without us.
 */
export async function endHeld(
  context: DeliverContext,
  held: Held,
  transition: Revision,
): Promise<Delivery | undefined> {
  const result = await writeHeld(context, held, transition);
  if (result.kind === 'written') return result.delivery;
  await returnAtLeaseEnd(context, held.work, result.current);
  return undefined;
}

/**
 * Does what comes between the claim and the request. Where one of our own services fails in it, nothing was sent: the lease is
 * given up before the fault is passed on, so that the attempt does not count as lost and need not wait for the lease to end.
 * `wasNotSent`: whether that holds for a fault of the request itself.
 */
export async function releasedOnFault<Result>(
  context: DeliverContext,
  held: Held,
  step: () => Promise<Result>,
  wasNotSent: (fault: unknown) => boolean = () => true,
): Promise<Result> {
  try {
    return await step();
  } catch (fault) {
    if (wasNotSent(fault))
      await writeHeld(context, held, release(held.delivery, held.receipt.owner, writeTime(context)));
    throw fault;
  }
}

/** Cancels a delivery that we hold, without an attempt. */
export async function cancelHeld(context: DeliverContext, held: Held, reason: CancelReason): Promise<void> {
  const { delivery, receipt } = held;
  const transition = cancelLeased(delivery, receipt.owner, reason, writeTime(context));
  if ((await endHeld(context, held, transition)) !== undefined)
    context.ports.journal.note({ fact: 'delivery_cancelled', key: delivery.key, reason });
}
