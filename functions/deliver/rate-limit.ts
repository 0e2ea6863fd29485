import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import { awaitSlot } from '../../shared/domain/delivery/transitions.ts';
import { errorOf } from '../../shared/domain/errors.ts';
import { planWakeUp, thresholdFor } from '../../shared/domain/retry/wake-up-plan.ts';
import {
  rateLimitOf,
  SLOT_LEAD_MS,
  standingOf,
  type RateLimit,
  type Slot,
} from '../../shared/domain/subscription/rate-limit.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import { keepMessage } from '../../shared/steps/keep-message.ts';
import { keptUntil, writeTime } from '../../shared/steps/retention.ts';
import type { DeliverContext } from './context.ts';
import { endHeld, hasTimeForRequest, timeLeftMs, type Loaded } from './held.ts';
import { scheduleNext, WORTH_WAITING_MS } from './wake-up.ts';

/** A queue that stood still for longer than this does not lag: what it held up comes all at once. */
const MOST_LAG_MS = 15 * 60 * 1000;

/** How often a reserved slot may be too old by the time we have it, because our own calls are slow. */
const MOST_TRIES = 3;
const AFTER_SLOW_CALLS_MS = 1_000;
const AFTER_FAULT_MS = 5_000;

/**
 * The turn of a request in the line of a subscription that limits their rate: by the slot on record if it is still good, else
 * by a new one. `slotAt`: the slot that it had to wait for, if it did. Undefined: the delivery waits for its slot on record.
 */
export async function takeTurn(
  context: DeliverContext,
  held: Loaded,
  subscription: Subscription,
): Promise<{ slotAt: number | undefined } | undefined> {
  const limit = rateLimitOf(subscription);
  if (limit === undefined) return { slotAt: undefined };
  const { clock } = context.ports;
  let slot = held.delivery.slot;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    slot = await validOrNew(context, held, limit, slot);
    if (!isWorthWaiting(context, held, slot)) {
      await waitOnRecord(context, held, slot);
      return undefined;
    }
    const waits = clock.now() < slot.at;
    while (clock.now() < slot.at) await clock.sleep(slot.at - clock.now());
    if (standingOf(slot, limit, clock.now()) === 'good')
      return { slotAt: waits ? slot.at : waitedUntil(slot, held) };
  }
  await waitOnRecord(context, held, { at: clock.now() + AFTER_SLOW_CALLS_MS });
  return undefined;
}

/** A wake-up that came too late for its slot is late by that. Undefined: there was no line to stand in. */
function waitedUntil({ at }: Slot, { delivery }: Loaded): number | undefined {
  return delivery.slot && Math.min(at, delivery.slot.at);
}

/** Where the line cannot be read now, its deliveries ask again later, without a lease or a failed receive. */
async function validOrNew(
  { ports }: DeliverContext,
  { delivery, message }: Loaded,
  limit: RateLimit,
  slot: Slot | undefined,
): Promise<Slot> {
  const { rateLimits, clock, journal } = ports;
  const { key } = delivery;
  if (slot !== undefined && standingOf(slot, limit, clock.now()) !== 'none') return slot;
  try {
    return await rateLimits.reserve(key, limit, message.expiresAt);
  } catch (cause) {
    journal.note({ fact: 'slot_unreserved', key, error: errorOf(cause) });
    return { at: clock.now() + AFTER_FAULT_MS };
  }
}

function isWorthWaiting(context: DeliverContext, held: Loaded, { at }: Slot): boolean {
  const now = context.ports.clock.now();
  const waitMs = Math.max(0, at - now);
  return (
    // A queue that lags would bring it back too late.
    waitMs <= WORTH_WAITING_MS + lagOf(held.delivery, now) &&
    hasTimeForRequest(context, timeLeftMs(context, held) - waitMs)
  );
}

/**
 * How late the wake-up for a slot came. A queue that lags would make a delivery miss one slot after the other, and a whole
 * backlog with it: the next slot is looked at earlier by as much, and where the lag is over it only waits once more.
 */
function lagOf({ slot, next }: Delivery, now: number): number {
  return slot === undefined || next === undefined ? 0 : Math.min(MOST_LAG_MS, Math.max(0, now - next.dueAt));
}

/** Puts the delivery on record as waiting, its lease given up, and schedules the wake-up for its slot. */
async function waitOnRecord(context: DeliverContext, held: Loaded, slot: Slot): Promise<void> {
  const { ports, settings } = context;
  const { delivery, receipt, work } = held;
  if (delivery.next === undefined) await keepMessage(ports, work, keptUntil(ports.clock.now(), settings));
  const at = writeTime(context);
  const dueAt = Math.max(at.now, slot.at - SLOT_LEAD_MS - lagOf(delivery, at.now));
  const next = {
    number: delivery.attempts.length + 1,
    phase: delivery.next?.phase ?? 'initial',
    dueAt,
    by: planWakeUp(dueAt, at.now, thresholdFor(slot, settings.schedulerThresholdSeconds)).by,
  };
  const waiting = await endHeld(context, held, awaitSlot(delivery, receipt.owner, { next, slot }, at));
  if (waiting === undefined) return;
  ports.journal.note({ fact: 'slot_awaited', key: delivery.key, attempt: next.number, slotAt: slot.at });
  await scheduleNext(context, waiting);
}
