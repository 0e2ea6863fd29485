import { type EarlierPlace, moveUp } from '../domain/delivery/place-in-line.ts';
import {
  isOpen,
  type Delivery,
  type DeliveryKey,
  type NextAttempt,
  type OpenDelivery,
} from '../domain/delivery/delivery.ts';
import type { WakeUp } from '../domain/delivery/job.ts';
import { computeSqsDelay } from '../domain/delivery/wake-up-plan.ts';
import { canReturnSlot, SLOT_LEAD_MS, type RateLimit, type Slot } from '../domain/subscription/rate-limit.ts';
import type { Clock } from '../ports/clock.ts';
import type { RateLimits } from '../ports/pace.ts';
import { removeSchedule, type InterventionContext } from './retry-delivery.ts';
import { writeTime } from './retention.ts';

/** Minimum gain in milliseconds: a smaller one is not worth a write and a wake-up. */
const WORTH_MOVING_MS = 5_000;

/** A recorded delivery that waits for its slot and is not leased. */
export type WaitingDelivery = OpenDelivery & { slot: Slot; next: NextAttempt };

export function isWaiting(delivery: Delivery): delivery is WaitingDelivery {
  const { slot, next, lease } = delivery;
  return isOpen(delivery) && slot !== undefined && next !== undefined && lease === undefined;
}

/**
 * Gives a waiting delivery an earlier slot if there is one; without a limit it becomes due now. A delivery that
 * changed in the meantime is left alone.
 * @throws when a service fails. Safe to repeat: the record is written before its wake-up, and reconcile finds a
 * delivery whose wake-up is missing.
 */
export async function moveUpWaiting(
  context: InterventionContext,
  waiting: WaitingDelivery,
  limit: RateLimit | undefined,
): Promise<'moved' | 'kept'> {
  const place = await earlierPlace(context, waiting, limit);
  if (place === undefined) return 'kept';
  const { slot } = place;
  const written = await context.ports.deliveries.write(moveUp(waiting, place, writeTime(context, waiting)));
  if (written.kind === 'refused') {
    if (slot !== undefined) await returnSlot(context.ports, waiting.key, slot);
    return 'kept';
  }
  await wake(context, waiting, place);
  await removeSchedule(context, waiting);
  if (slot?.epoch === waiting.slot.epoch) await returnSlot(context.ports, waiting.key, waiting.slot);
  return 'moved';
}

/** An earlier place in the line, not before the retry is due by its policy; undefined if there is none. */
async function earlierPlace(
  { ports }: InterventionContext,
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
  // No slot yet, because the line is now shorter than this retry's delay: the delivery asks again when it is due.
  return from > now && slot.at <= latest ? placeAt(slot.at) : undefined;
}

/** Returns an unused slot if it is far enough ahead for another delivery to use it. */
export async function returnSlot(
  { clock, rateLimits }: { clock: Pick<Clock, 'now'>; rateLimits: Pick<RateLimits, 'returnSlot'> },
  key: DeliveryKey,
  slot: Slot,
): Promise<void> {
  if (canReturnSlot(slot, clock.now())) await rateLimits.returnSlot(key, slot);
}

async function wake(
  { ports }: InterventionContext,
  { key }: Delivery,
  { next: { number: attempt, dueAt }, slot }: EarlierPlace,
): Promise<void> {
  const wakeUp: WakeUp = { kind: 'wake_up', key, attempt, dueAt, by: 'sqs_delay' };
  await ports.wakeUps.sendDelayed(wakeUp, computeSqsDelay(dueAt, ports.clock.now()));
  ports.journal.note({ fact: 'moved_up', key, attempt, slotAt: slot?.at ?? dueAt });
}
