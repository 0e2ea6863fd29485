import { type EarlierPlace, moveUp } from '../domain/delivery/place-in-line.ts';
import { isOpen, type Delivery, type DeliveryKey, type NextAttempt } from '../domain/delivery/delivery.ts';
import type { WakeUp } from '../domain/delivery/job.ts';
import { planSqsDelay } from '../domain/retry/wake-up-plan.ts';
import { canLeaveLine, SLOT_LEAD_MS, type RateLimit, type Slot } from '../domain/subscription/rate-limit.ts';
import type { Clock } from '../ports/clock.ts';
import type { RateLimits } from '../ports/subscriptions.ts';
import { removeSchedule, type ByHandContext } from './by-hand.ts';
import { writeTime } from './retention.ts';

/** What would go sooner by less than this is left where it is: a write and a wake-up are not worth it. Milliseconds. */
const WORTH_MOVING_MS = 5_000;

/** A delivery on record as waiting for its slot, with nobody at it. */
export type WaitingDelivery = Delivery & { slot: Slot; next: NextAttempt };

export function isWaiting(delivery: Delivery): delivery is WaitingDelivery {
  const { status, slot, next, lease } = delivery;
  return isOpen(status) && slot !== undefined && next !== undefined && lease === undefined;
}

/**
 * Gives a waiting delivery an earlier place in its line if there is one; without a limit it is due now. A delivery that
 * changed meanwhile stays as it is.
 * @throws when a service fails. Safe to repeat: the record is written before its wake-up, and reconcile finds it without one.
 */
export async function moveUpWaiting(
  context: ByHandContext,
  waiting: WaitingDelivery,
  limit: RateLimit | undefined,
): Promise<'moved' | 'kept'> {
  const place = await earlierPlace(context, waiting, limit);
  if (place === undefined) return 'kept';
  const { slot } = place;
  const written = await context.ports.deliveries.write(moveUp(waiting, place, writeTime(context)));
  if (written.kind === 'refused') {
    if (slot !== undefined) await leaveSlot(context.ports, waiting.key, slot);
    return 'kept';
  }
  await wake(context, waiting, place);
  await removeSchedule(context, waiting);
  if (slot?.epoch === waiting.slot.epoch) await leaveSlot(context.ports, waiting.key, waiting.slot);
  return 'moved';
}

/** Undefined: there is none before its own. Before a retry is due by its policy there is no place for it. */
async function earlierPlace(
  { ports }: ByHandContext,
  { key, slot: { at, from = 0 }, next }: WaitingDelivery,
  limit: RateLimit | undefined,
): Promise<EarlierPlace | undefined> {
  const now = ports.clock.now();
  const [earliest, latest] = [Math.max(now, from), at - WORTH_MOVING_MS];
  const placeAt = (dueAt: number, slot?: Slot): EarlierPlace => ({
    slot: slot && { ...slot, ...(from > now && { from }) },
    next: { ...next, dueAt: Math.max(earliest, dueAt), by: 'sqs_delay' },
  });
  if (latest < earliest) return undefined;
  if (limit === undefined) return placeAt(earliest);
  const wanted = { until: latest, ...(from > now && { from }) };
  const slot = await ports.rateLimits.reserve(key, limit, wanted);
  if (slot.epoch !== undefined) return placeAt(slot.at - SLOT_LEAD_MS, slot);
  // The line is shorter than the delay of this retry by now: it asks again when it is due.
  return from > now && slot.at <= latest ? placeAt(slot.at) : undefined;
}

/** Gives a slot that is not used to others, if it is far enough ahead for them. */
export async function leaveSlot(
  { clock, rateLimits }: { clock: Pick<Clock, 'now'>; rateLimits: Pick<RateLimits, 'leave'> },
  key: DeliveryKey,
  slot: Slot,
): Promise<void> {
  if (canLeaveLine(slot, clock.now())) await rateLimits.leave(key, slot);
}

async function wake(
  { ports }: ByHandContext,
  { key }: Delivery,
  { next: { number: attempt, dueAt }, slot }: EarlierPlace,
): Promise<void> {
  const wakeUp: WakeUp = { kind: 'wake_up', key, attempt, dueAt, by: 'sqs_delay' };
  await ports.wakeUps.sendDelayed(wakeUp, planSqsDelay(dueAt, ports.clock.now()).delaySeconds);
  ports.journal.note({ fact: 'moved_up', key, attempt, slotAt: slot?.at ?? dueAt });
}
