import { enter, enterLapsed, reenter, refusalOf, type Entry } from '../../shared/domain/delivery/entry.ts';
import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import type { Delivery, Transition } from '../../shared/domain/delivery/delivery.ts';
import type { DeliverContext } from './context.ts';
import { momentOf } from '../../shared/steps/moment.ts';
import { keepMessage, keptUntil } from '../../shared/steps/keep-message.ts';

/** What came of entering a delivery. `dropped`: nothing is left to do for this message. */
export type Taking =
  | { kind: 'taken'; delivery: Delivery }
  | { kind: 'early'; delivery: Delivery; dueAt: number }
  | { kind: 'recorded'; delivery: Delivery }
  | { kind: 'owing'; delivery: Delivery }
  /** Somebody is at a first attempt, which no index finds should they die. */
  | { kind: 'first_in_flight'; until: number }
  | { kind: 'dropped'; reason: 'no_record' | 'finished' | 'stale' | 'in_flight' };

/** How often the record may change under our hands before the message is left to come again. */
const MOST_TRIES = 4;

/** The record of a delivery kept changing while an invocation tried to enter it. Transient: SQS brings the message back. */
export class ContendedDeliveryError extends Error {
  override readonly name = 'ContendedDeliveryError';
  constructor(work: DeliveryJob | WakeUp) {
    const { queue, messageId, subscriptionId } = work.key;
    super(
      `Delivery ${queue}/${messageId}/${subscriptionId} changed ${MOST_TRIES} times while attempt ${work.attempt} entered it`,
    );
  }
}

/**
 * Enters a delivery by one conditional write. Where it is refused, the record that refused it decides; only a lease
 * that ran out, or a record that changed meanwhile, leads to a second write.
 */
export async function takeDelivery(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  entry: Entry,
): Promise<Taking> {
  const { ports } = context;
  if (work.kind === 'job' && work.lost !== undefined) await keepForReconcile(context, work);
  let transition: Transition = enter(work, entry, momentOf(context));
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const result = await ports.deliveries.write(transition);
    if (result.kind === 'written') {
      if (transition.name === 'take_over')
        ports.journal.note({ fact: 'lease_lost', key: work.key, attempt: work.attempt });
      return { kind: 'taken', delivery: result.delivery };
    }
    const step = afterRefusal(context, work, entry, result.current);
    if (step.kind !== 'try') return step;
    transition = step.transition;
    if (transition.name === 'take_over') await keepForReconcile(context, work);
  }
  throw new ContendedDeliveryError(work);
}

/** Whoever takes over a first attempt puts it under reconcile's eyes, whose wake-ups carry no message. */
function keepForReconcile({ ports, settings }: DeliverContext, work: DeliveryJob | WakeUp): Promise<void> {
  return keepMessage(ports, work, keptUntil(ports.clock.now(), settings));
}

function afterRefusal(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  entry: Entry,
  current: Delivery | undefined,
): Taking | { kind: 'try'; transition: Transition } {
  const moment = momentOf(context);
  const refusal = refusalOf(work.attempt, current, moment.now);
  switch (refusal.kind) {
    case 'unknown':
      return { kind: 'dropped', reason: 'no_record' };
    case 'finished':
      return { kind: 'dropped', reason: 'finished' };
    case 'ahead':
      return { kind: 'dropped', reason: 'stale' };
    case 'in_flight':
      return refusal.delivery.overdueAt === undefined
        ? { kind: 'first_in_flight', until: refusal.lease.until }
        : { kind: 'dropped', reason: 'in_flight' };
    case 'owing':
    case 'recorded':
    case 'early':
      return refusal;
    case 'lapsed':
      return { kind: 'try', transition: enterLapsed(refusal.delivery, refusal.lease, entry, moment) };
    case 'open':
      return { kind: 'try', transition: reenter(work, entry, moment) };
  }
}
