import type { Mechanism } from '../../shared/domain/vocabulary.ts';
import type { DeliveryJob, FirstJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { isOpen, type Delivery } from '../../shared/domain/delivery/delivery.ts';
import {
  MAX_DELAY_SECONDS,
  planWakeUp,
  scheduleName,
  thresholdFor,
  wakeUpTime,
  planSqsDelay,
} from '../../shared/domain/retry/wake-up-plan.ts';
import type { DeliverContext } from './context.ts';

/** What is due within this time is waited for; for anything later a message is sent that comes when it is due. */
export const WORTH_WAITING_MS = 1_000;

/**
 * Schedules the wake-up of the attempt that the record says is next; a no-op for a delivery that is over. Idempotent.
 * @throws when it could not be scheduled: the message must not be acknowledged then.
 */
export async function scheduleNext(context: DeliverContext, delivery: Delivery): Promise<void> {
  const { key, next, lease, slot } = delivery;
  if (next === undefined) return;
  const wakeUp: WakeUp = { kind: 'wake_up', key, attempt: next.number, dueAt: wakeUpTime(next, lease) };
  await setWakeUp(context, wakeUp, thresholdFor(slot, context.settings.schedulerThresholdSeconds));
}

/** By Scheduler or by SQS, as far ahead as it is now: the record's `next.by` is what was planned when it was written. */
async function setWakeUp(
  context: DeliverContext,
  wakeUp: WakeUp,
  thresholdSeconds = context.settings.schedulerThresholdSeconds,
): Promise<void> {
  const { ports } = context;
  const plan = planWakeUp(wakeUp.dueAt, ports.clock.now(), thresholdSeconds);
  if (plan.by === 'scheduler') {
    const name = scheduleName(wakeUp.key, wakeUp.attempt, wakeUp.dueAt);
    if ((await ports.wakeUps.schedule(name, plan.at, { ...wakeUp, by: 'scheduler' })) === 'scheduled') {
      noteScheduled(context, wakeUp, 'scheduler');
      return;
    }
    ports.journal.note({ fact: 'schedule_refused', key: wakeUp.key, attempt: wakeUp.attempt });
  }
  await delayBySqs(context, { ...wakeUp, by: 'sqs_delay' });
  noteScheduled(context, wakeUp, 'sqs_delay');
}

/** Sends the wake-up by SQS, delayed until it is due, or for as long as SQS delays a message. */
async function delayBySqs({ ports }: DeliverContext, wakeUp: WakeUp): Promise<void> {
  await ports.wakeUps.sendDelayed(wakeUp, planSqsDelay(wakeUp.dueAt, ports.clock.now()).delaySeconds);
}

/** Sends a job or wake-up once more, as a new message that comes when it is due. */
export async function sendAgain(
  context: DeliverContext,
  work: FirstJob | WakeUp,
  dueAt: number,
): Promise<void> {
  const { ports } = context;
  if (work.kind === 'wake_up') {
    // Far ahead, each delay of SQS may make copies, which would multiply from one to the next; under a schedule's name they become one.
    const isFar = dueAt - ports.clock.now() > MAX_DELAY_SECONDS * 1000;
    if (isFar) await setWakeUp(context, { ...work, dueAt });
    else await delayBySqs(context, { ...work, dueAt });
    return;
  }
  await ports.deliveryQueue.send([work], planSqsDelay(dueAt, ports.clock.now()).delaySeconds);
}

/**
 * Sends a job or wake-up that came too early again, for its time, and returns true. For one that is due within a second it
 * waits, and returns false.
 */
export async function sendAgainIfEarly(
  context: DeliverContext,
  work: FirstJob | WakeUp,
  dueAt = 0,
): Promise<boolean> {
  const { clock } = context.ports;
  if (dueAt - clock.now() > WORTH_WAITING_MS) {
    await sendAgain(context, work, dueAt);
    return true;
  }
  while (clock.now() < dueAt) await clock.sleep(dueAt - clock.now());
  return false;
}

/**
 * Where another invocation holds a first attempt, sends the work again for the end of its lease; otherwise does nothing. No
 * index finds a first attempt whose holder died. The holder may have a copy of this very message (SQS hands one out twice at times), which our
 * acknowledgement deletes for both.
 */
export async function returnAtLeaseEnd(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  current: Delivery | undefined,
): Promise<void> {
  if (current === undefined || !isOpen(current.status) || current.overdueAt !== undefined) return;
  await sendAgain(context, work, current.lease?.until ?? context.ports.clock.now());
}

function noteScheduled({ ports }: DeliverContext, { key, attempt, dueAt }: WakeUp, by: Mechanism): void {
  ports.journal.note({ fact: 'wake_up_set', key, attempt, by, dueAt });
}
