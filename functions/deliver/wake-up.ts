import type { Mechanism } from '../../shared/domain/delivery/vocabulary.ts';
import type { DeliveryJob, FirstJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { isOpen, type Delivery } from '../../shared/domain/delivery/delivery.ts';
import {
  MAX_DELAY_SECONDS,
  planWakeUp,
  scheduleName,
  thresholdFor,
  wakeUpTime,
  computeSqsDelay,
} from '../../shared/domain/delivery/wake-up-plan.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { DeliverContext } from './context.ts';

/**
 * How long an invocation waits for work that is nearly due, in milliseconds. Later work is sent again with a delay.
 */
export const MAX_WAIT_MS = 1_000;

/**
 * Schedules the wake-up of the delivery's recorded next attempt. Idempotent; a no-op for a finished delivery.
 * @throws if it could not be scheduled: do not acknowledge the message then
 */
export async function scheduleNext(context: DeliverContext, delivery: Delivery): Promise<void> {
  const { key, next, lease, slot } = delivery;
  if (next === undefined) return;
  const wakeUp: WakeUp = { kind: 'wake_up', key, attempt: next.number, dueAt: wakeUpTime(next, lease) };
  const threshold = thresholdFor(slot, context.settings.schedulerThresholdSeconds);
  await scheduleWakeUp(context, wakeUp, threshold, next.by);
}

/** Uses Scheduler or SQS depending on the time left now. */
async function scheduleWakeUp(
  context: DeliverContext,
  wakeUp: WakeUp,
  thresholdSeconds = context.settings.schedulerThresholdSeconds,
  recorded?: Mechanism,
): Promise<void> {
  const { ports } = context;
  const plan = planWakeUp(wakeUp.dueAt, ports.clock.now(), thresholdSeconds, recorded);
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

/** Sends the wake-up through SQS, delayed until it is due or by the maximum SQS delay. */
async function delayBySqs({ ports }: DeliverContext, wakeUp: WakeUp): Promise<void> {
  await ports.wakeUps.sendDelayed(wakeUp, computeSqsDelay(wakeUp.dueAt, ports.clock.now()));
}

/** Sends a job or wake-up as a new message that arrives when it is due. */
export async function sendAgain(
  context: DeliverContext,
  work: FirstJob | WakeUp,
  dueAt: number,
): Promise<void> {
  const { ports } = context;
  if (work.kind === 'wake_up') {
    // SQS may duplicate a message at each delay, so copies would multiply over a long wait. A schedule's name is
    // unique.
    const isFar = dueAt - ports.clock.now() > MAX_DELAY_SECONDS * 1000;
    if (isFar) await scheduleWakeUp(context, { ...work, dueAt });
    else await delayBySqs(context, { ...work, dueAt });
    return;
  }
  await ports.deliveryQueue.send([work], computeSqsDelay(dueAt, ports.clock.now()));
}

/** Sends early work again for its due time and returns true. The caller waits for work due within `MAX_WAIT_MS`. */
export async function sendAgainIfEarly(
  context: DeliverContext,
  work: FirstJob | WakeUp,
  dueAt = 0,
): Promise<boolean> {
  const isEarly = dueAt - context.ports.clock.now() > MAX_WAIT_MS;
  if (isEarly) await sendAgain(context, work, dueAt);
  return isEarly;
}

/** Returns whether it had to wait. */
export async function sleepUntil(at = 0, clock: Pick<Clock, 'now' | 'sleep'>): Promise<boolean> {
  const waits = clock.now() < at;
  while (clock.now() < at) await clock.sleep(at - clock.now());
  return waits;
}

/**
 * Sends the work again for the end of the lease if another invocation holds a first attempt; otherwise a no-op. The
 * overdue index has no first attempts, and acknowledging this message may delete the holder's copy of it.
 */
export async function returnAtLeaseEnd(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  current: Delivery | undefined,
): Promise<void> {
  if (current === undefined || !isOpen(current) || current.overdueAt !== undefined) return;
  await sendAgain(context, work, current.lease?.until ?? context.ports.clock.now());
}

function noteScheduled({ ports }: DeliverContext, { key, attempt, dueAt }: WakeUp, by: Mechanism): void {
  ports.journal.note({ fact: 'wake_up_set', key, attempt, by, dueAt });
}
