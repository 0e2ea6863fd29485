import type { Mechanism } from '../../shared/domain/vocabulary.ts';
import type { DeliveryJob, FirstJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { isOpen, type Delivery } from '../../shared/domain/delivery/delivery.ts';
import {
  armedFor,
  MAX_DELAY_SECONDS,
  planHop,
  planWakeUp,
  scheduleName,
  thresholdFor,
} from '../../shared/domain/retry/wake-up-plan.ts';
import type { DeliverContext } from './context.ts';

/**
 * Sets the wake-up of the attempt that the record says is next; none for a delivery that is over. Safe to repeat.
 * @throws when it could not be set: the message must not be acknowledged then.
 */
export async function armNext(context: DeliverContext, delivery: Delivery): Promise<void> {
  const { next, lease, slot } = delivery;
  if (next === undefined) return;
  const dueAt = armedFor(next, lease);
  const threshold = thresholdFor(slot, context.settings.schedulerThresholdSeconds);
  await arm(context, { kind: 'wake_up', key: delivery.key, attempt: next.number, dueAt }, threshold);
}

async function arm(
  context: DeliverContext,
  wakeUp: WakeUp,
  thresholdSeconds = context.settings.schedulerThresholdSeconds,
): Promise<void> {
  const { ports } = context;
  const plan = planWakeUp(wakeUp.dueAt, ports.clock.now(), thresholdSeconds);
  if (plan.by === 'scheduler') {
    const name = scheduleName(wakeUp.key, wakeUp.attempt, wakeUp.dueAt);
    if ((await ports.wakeUps.schedule(name, plan.at, { ...wakeUp, by: 'scheduler' })) === 'scheduled') {
      noteSet(context, wakeUp, 'scheduler');
      return;
    }
    ports.journal.note({ fact: 'schedule_refused', key: wakeUp.key, attempt: wakeUp.attempt });
  }
  await hop(context, { ...wakeUp, by: 'sqs_delay' });
  noteSet(context, wakeUp, 'sqs_delay');
}

/** Sends the wake-up on its way by SQS: all of the remainder, or as much as SQS delays. */
async function hop({ ports }: DeliverContext, wakeUp: WakeUp): Promise<void> {
  await ports.wakeUps.sendDelayed(wakeUp, planHop(wakeUp.dueAt, ports.clock.now()).delaySeconds);
}

/** Sends a job or wake-up once more, as a new message, so that it comes when it is due. */
export async function sendAgain(
  context: DeliverContext,
  work: FirstJob | WakeUp,
  dueAt: number,
): Promise<void> {
  const { ports } = context;
  if (work.kind === 'wake_up') {
    // Far ahead, copies would multiply from hop to hop, as each may be repeated; under a schedule's name they become one.
    const isFar = dueAt - ports.clock.now() > MAX_DELAY_SECONDS * 1000;
    await (isFar ? arm : hop)(context, { ...work, dueAt });
    return;
  }
  await ports.deliveryQueue.send([work], planHop(dueAt, ports.clock.now()).delaySeconds);
}

/**
 * Somebody else is at a first attempt, perhaps by a copy of this very message: SQS may hand one out twice, and our
 * acknowledgement deletes it for both. No index finds a first attempt whose holder died, so it is looked at once more.
 */
export async function watchOver(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  current: Delivery | undefined,
): Promise<void> {
  if (current === undefined || !isOpen(current.status) || current.overdueAt !== undefined) return;
  await sendAgain(context, work, current.lease?.until ?? context.ports.clock.now());
}

function noteSet({ ports }: DeliverContext, wakeUp: WakeUp, by: Mechanism): void {
  ports.journal.note({
    fact: 'wake_up_set',
    key: wakeUp.key,
    attempt: wakeUp.attempt,
    by,
    dueAt: wakeUp.dueAt,
  });
}
