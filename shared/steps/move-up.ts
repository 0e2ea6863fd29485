import { moveUp } from '../domain/delivery/by-hand.ts';
import { isOpen, type Delivery, type NextAttempt } from '../domain/delivery/delivery.ts';
import type { WakeUp } from '../domain/delivery/job.ts';
import { planSqsDelay } from '../domain/retry/wake-up-plan.ts';
import { canBeLeft, SLOT_LEAD_MS, type RateLimit, type Slot } from '../domain/subscription/rate-limit.ts';
import { removeSchedule, type ByHandContext } from './by-hand.ts';
import { writeTime } from './retention.ts';

/** What would go sooner by less than this is left where it is: a write and a wake-up are not worth it. Milliseconds. */
const WORTH_MOVING_MS = 5_000;

/** A delivery on record as waiting for its slot, with nobody at it. */
export type Waiting = Delivery & { slot: Slot; next: NextAttempt };

export function isWaiting(delivery: Delivery): delivery is Waiting {
  const { status, slot, next, lease } = delivery;
  return isOpen(status) && slot !== undefined && next !== undefined && lease === undefined;
}

/** A place in the line; `slot` undefined: there is no line any more. */
type Place = { slot: Slot | undefined; next: NextAttempt };

/**
 * Gives a waiting delivery an earlier place in its line if there is one; without a limit it is due now. A delivery that
 * changed meanwhile stays as it is.
 * @throws when a service fails. Safe to repeat: the record is written before its wake-up, and reconcile finds it without one.
 */
export async function moveWaitingUp(
  context: ByHandContext,
  waiting: Waiting,
  limit: RateLimit | undefined,
): Promise<'moved' | 'kept'> {
  const place = await earlierPlace(context, waiting, limit);
  if (place === undefined) return 'kept';
  const { slot } = place;
  const written = await context.ports.deliveries.write(moveUp(waiting, place, writeTime(context)));
  if (written.kind === 'refused') {
    await leave(context, waiting, slot);
    return 'kept';
  }
  await wake(context, waiting, place);
  await removeSchedule(context, waiting);
  if (slot?.epoch === waiting.slot.epoch) await leave(context, waiting, waiting.slot);
  return 'moved';
}

async function earlierPlace(
  { ports }: ByHandContext,
  { key, slot: { at }, next }: Waiting,
  limit: RateLimit | undefined,
): Promise<Place | undefined> {
  const { clock, rateLimits } = ports;
  const before = at - WORTH_MOVING_MS;
  if (before < clock.now()) return undefined;
  const by = 'sqs_delay';
  if (limit === undefined) return { slot: undefined, next: { ...next, dueAt: clock.now(), by } };
  const slot = await rateLimits.reserve(key, limit, before);
  // Without an epoch it is none: there is no place before its own.
  if (slot.epoch === undefined) return undefined;
  return { slot, next: { ...next, dueAt: Math.max(clock.now(), slot.at - SLOT_LEAD_MS), by } };
}

async function leave(
  { ports }: ByHandContext,
  { key }: Pick<Delivery, 'key'>,
  slot: Slot | undefined,
): Promise<void> {
  if (slot !== undefined && canBeLeft(slot, ports.clock.now())) await ports.rateLimits.leave(key, slot);
}

async function wake(
  { ports }: ByHandContext,
  { key }: Delivery,
  { next: { number: attempt, dueAt }, slot }: Place,
): Promise<void> {
  const wakeUp: WakeUp = { kind: 'wake_up', key, attempt, dueAt, by: 'sqs_delay' };
  await ports.wakeUps.sendDelayed(wakeUp, planSqsDelay(dueAt, ports.clock.now()).delaySeconds);
  ports.journal.note({ fact: 'moved_up', key, attempt, slotAt: slot?.at ?? dueAt });
}
