import { awaitSlot } from '../../shared/domain/delivery/result.ts';
import type { Delivery, DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import { errorOf } from '../../shared/domain/errors.ts';
import {
  rateLimitOf,
  SLOT_LEAD_MS,
  standingOf,
  type RateLimit,
  type Slot,
} from '../../shared/domain/subscription/rate-limit.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import { planWakeUp, thresholdFor } from '../../shared/domain/retry/wake-up-plan.ts';
import { type DeliverContext, hasTimeForRequest, type HeldDelivery, timeLeftMs } from './context.ts';
import { keepMessage, keptUntil } from '../../shared/steps/keep-message.ts';
import { momentOf } from '../../shared/steps/moment.ts';
import { armNext, watchOver } from './wake-up.ts';

/** Whether a request may be made now, and for which slot it waited, if it did, or what it has to wait for. */
export type Turn = { kind: 'now'; slotAt?: number } | { kind: 'later'; slot: Slot };

/** Nearer than this a slot is waited for with the lease held; one further away is waited for on record. */
const WORTH_WAITING_MS = 1_000;

/** A queue that stood still for longer does not lag: what is held up in it comes all at once. */
const MOST_LAG_MS = 15 * 60 * 1000;

/** How often a slot may be too old by the time that it is ours, because our own calls are slow. */
const MOST_TRIES = 3;
const AFTER_SLOW_CALLS_MS = 1_000;
const AFTER_FAULT_MS = 5_000;

/** The turn of a request whose subscription limits their rate: the slot on record if it is still good, else a new one. */
export async function turnOf(
  context: DeliverContext,
  held: HeldDelivery,
  subscription: Subscription,
): Promise<Turn> {
  const limit = rateLimitOf(subscription);
  if (limit === undefined) return { kind: 'now' };
  const { clock } = context.ports;
  let slot = held.delivery.slot;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    slot = await heldOrNew(context, held, limit, slot);
    if (!isWorthWaiting(context, held, slot)) return { kind: 'later', slot };
    const waits = clock.now() < slot.at;
    while (clock.now() < slot.at) await clock.sleep(slot.at - clock.now());
    if (standingOf(slot, limit, clock.now()) === 'good')
      return going(waits ? slot.at : waitedUntil(slot, held));
  }
  return { kind: 'later', slot: { at: clock.now() + AFTER_SLOW_CALLS_MS } };
}

function going(slotAt: number | undefined): Turn {
  return {
    kind: 'now',
    ...(slotAt === undefined ? {} : { slotAt }),
  };
}

/** What came too late for its slot is late by that. Undefined: there was no line to stand in. */
function waitedUntil({ at }: Slot, { delivery }: HeldDelivery): number | undefined {
  return delivery.slot && Math.min(at, delivery.slot.at);
}

async function heldOrNew(
  { ports }: DeliverContext,
  { delivery, message }: HeldDelivery,
  limit: RateLimit,
  slot: Slot | undefined,
): Promise<Slot> {
  return slot !== undefined && standingOf(slot, limit, ports.clock.now()) !== 'none'
    ? slot
    : reservedOrLater(ports, { key: delivery.key, limit, until: message.expiresAt });
}

/** A line that cannot be had now holds up its own deliveries: they ask again, without a lease or a receive that failed. */
async function reservedOrLater(
  { rateLimits, clock, journal }: DeliverContext['ports'],
  { key, limit, until }: { key: DeliveryKey; limit: RateLimit; until: number | undefined },
): Promise<Slot> {
  try {
    return await rateLimits.reserve(key, limit, until);
  } catch (cause) {
    journal.note({ fact: 'slot_unreserved', key, error: errorOf(cause) });
    return { at: clock.now() + AFTER_FAULT_MS };
  }
}

function isWorthWaiting(context: DeliverContext, held: HeldDelivery, { at }: Slot): boolean {
  const now = context.ports.clock.now();
  const waitMs = Math.max(0, at - now);
  return (
    // What lags would bring it back too late.
    waitMs <= WORTH_WAITING_MS + lagOf(held.delivery, now) &&
    hasTimeForRequest(timeLeftMs(context, held) - waitMs, context.settings)
  );
}

/**
 * How late the wake-up for a slot came. A queue that lags would make a delivery miss one slot after the other, and all of a
 * backlog with it: the next is looked at earlier by as much, and where the lag is over it only waits once more.
 */
function lagOf({ slot, next }: Delivery, now: number): number {
  return slot === undefined || next === undefined ? 0 : Math.min(MOST_LAG_MS, Math.max(0, now - next.dueAt));
}

/** Puts the delivery on record as waiting, its lease given up, and sees to it that it is woken for its slot. */
export async function awaitTurn(context: DeliverContext, held: HeldDelivery, slot: Slot): Promise<void> {
  const { ports, settings } = context;
  const { delivery, received, work } = held;
  if (delivery.next === undefined) await keepMessage(ports, work, keptUntil(ports.clock.now(), settings));
  const at = momentOf(context);
  const dueAt = Math.max(at.now, slot.at - SLOT_LEAD_MS - lagOf(delivery, at.now));
  const next = {
    number: delivery.attempts.length + 1,
    phase: delivery.next?.phase ?? 'initial',
    dueAt,
    by: planWakeUp(dueAt, at.now, thresholdFor(slot, settings.schedulerThresholdSeconds)).by,
  };
  const result = await ports.deliveries.write(awaitSlot(delivery, received.owner, { next, slot }, at));
  if (result.kind === 'refused') {
    await watchOver(context, work, result.current);
    return;
  }
  ports.journal.note({ fact: 'slot_awaited', key: delivery.key, attempt: next.number, slotAt: slot.at });
  await armNext(context, result.delivery);
}
