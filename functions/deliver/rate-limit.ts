import type { Delivery, DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { awaitSlot, openWaiting, type PlaceInLine } from '../../shared/domain/delivery/place-in-line.ts';
import { errorOf } from '../../shared/domain/errors.ts';
import { bodyBytes, MAX_BODY_ON_RECORD } from '../../shared/domain/message/body.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import { planWakeUp, thresholdFor } from '../../shared/domain/retry/wake-up-plan.ts';
import {
  rateLimitOf,
  SLOT_LEAD_MS,
  slotStateOf,
  type RateLimit,
  type Slot,
} from '../../shared/domain/subscription/rate-limit.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { SlotConstraints } from '../../shared/ports/subscriptions.ts';
import { keepMessage } from '../../shared/steps/keep-message.ts';
import { leaveSlot } from '../../shared/steps/move-up.ts';
import { keptUntil, writeTime } from '../../shared/steps/retention.ts';
import type { DeliverContext, Receipt } from './context.ts';
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
  let slot = held.delivery.slot ?? held.slot;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    slot = await validOrNew(context, held, limit, slot);
    if (!isWorthWaiting(context, held, slot)) {
      await waitOnRecord(context, held, slot);
      return undefined;
    }
    const waits = clock.now() < slot.at;
    while (clock.now() < slot.at) await clock.sleep(slot.at - clock.now());
    if (slotStateOf(slot, limit, clock.now()) === 'good')
      return { slotAt: waits ? slot.at : waitedUntil(slot, held) };
  }
  await waitOnRecord(context, held, { at: clock.now() + AFTER_SLOW_CALLS_MS });
  return undefined;
}

/** A wake-up that came too late for its slot is late by that. Undefined: there was no line to stand in. */
function waitedUntil({ at }: Slot, { delivery }: Loaded): number | undefined {
  return delivery.slot && Math.min(at, delivery.slot.at);
}

async function validOrNew(
  context: DeliverContext,
  { delivery, message }: Loaded,
  limit: RateLimit,
  slot: Slot | undefined,
): Promise<Slot> {
  return slot !== undefined && slotStateOf(slot, limit, context.ports.clock.now()) !== 'none'
    ? slot
    : reserve(context, delivery.key, limit, { until: message.expiresAt });
}

/** Where the line cannot be read now, its deliveries ask again later, without a lease or a failed receive. */
async function reserve(
  { ports }: DeliverContext,
  key: DeliveryKey,
  limit: RateLimit,
  wanted: SlotConstraints,
): Promise<Slot> {
  const { rateLimits, clock, journal } = ports;
  try {
    return await rateLimits.reserve(key, limit, wanted);
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
function lagOf({ slot, next }: Pick<Delivery, 'slot' | 'next'>, now: number): number {
  return slot === undefined || next === undefined ? 0 : Math.min(MOST_LAG_MS, Math.max(0, now - next.dueAt));
}

/** Puts the delivery on record as waiting, its lease given up, and schedules the wake-up for its slot. */
async function waitOnRecord(context: DeliverContext, held: Loaded, slot: Slot): Promise<void> {
  const { ports, settings } = context;
  const { delivery, receipt, work } = held;
  if (delivery.next === undefined) await keepMessage(ports, work, keptUntil(ports.clock.now(), settings));
  const place = placeAt(context, slot, delivery);
  const transition = awaitSlot(delivery, receipt.owner, place, writeTime(context));
  const waiting = await endHeld(context, held, transition);
  if (waiting !== undefined) await wakeForSlot(context, waiting, place);
}

/**
 * Whether a job may stand in line before its claim: what came before is on record as a rule, and what was lost is counted by the
 * claim. A body that has to be put into the bucket is kept under a claim only, or a copy would bring back one that was erased.
 */
export function canStandUnclaimed(
  work: DeliveryJob | WakeUp,
  { receiveCount }: Receipt,
): work is DeliveryJob {
  if (work.kind === 'wake_up' || work.lost !== undefined || receiveCount > 1) return false;
  return work.body.kind === 'stored' || bodyBytes(work.body.message) <= MAX_BODY_ON_RECORD;
}

/**
 * Stands in line with a first attempt before its claim, so that where it has to wait, one write puts it on record and not
 * two. `waits`: it does. A slot: its turn comes while it is waited for. Undefined: there is no line, or something is on
 * record of it already, which its claim will tell.
 */
export async function joinLine(
  context: DeliverContext,
  job: DeliveryJob,
  subscription: Subscription,
  { expiresAt }: Message,
): Promise<'waits' | Slot | undefined> {
  const limit = rateLimitOf(subscription);
  if (limit === undefined) return undefined;
  const { ports, settings } = context;
  const slot = await reserve(context, job.key, limit, { until: expiresAt });
  const now = ports.clock.now();
  if (slot.at - now <= WORTH_WAITING_MS) return slot;
  await keepMessage(ports, job, keptUntil(now, settings));
  const place = placeAt(context, slot);
  const written = await ports.deliveries.write(openWaiting(job, place, writeTime(context)));
  if (written.kind === 'refused') {
    await leaveSlot(ports, job.key, slot);
    return undefined;
  }
  await wakeForSlot(context, written.delivery, place);
  return 'waits';
}

/**
 * Sets the wake-up of a retry. Where the attempt before it had to wait on record, the line may be longer yet than the retry's delay:
 * then it stands there from now on. Woken when it is due, it would only be told to wait. `last`: the slot of that attempt.
 */
export async function scheduleRetry(
  context: DeliverContext,
  held: Loaded,
  last: Slot | undefined,
): Promise<void> {
  if (last === undefined || !(await standInLineAgain(context, held)))
    await scheduleNext(context, held.delivery);
}

/** False: it waits as the policy says. */
async function standInLineAgain(
  context: DeliverContext,
  { delivery, subscription, message }: Loaded,
): Promise<boolean> {
  const limit = subscription && rateLimitOf(subscription);
  if (limit === undefined || delivery.next === undefined) return false;
  const { key, next } = delivery;
  const from = next.dueAt;
  const slot = await reserve(context, key, limit, { from, until: message.expiresAt });
  if (slot.epoch === undefined) return false;
  const place = placeAt(context, { ...slot, from }, delivery);
  const transition = awaitSlot(delivery, undefined, place, writeTime(context));
  const written = await context.ports.deliveries.write(transition);
  if (written.kind === 'refused') {
    await leaveSlot(context.ports, key, slot);
    return false;
  }
  await wakeForSlot(context, written.delivery, place);
  return true;
}

/** It is looked at a little before its slot, and not before it is due. */
function placeAt(
  { ports, settings }: DeliverContext,
  slot: Slot,
  delivery: Pick<Delivery, 'attempts' | 'next' | 'slot'> = { attempts: [] },
): PlaceInLine {
  const now = ports.clock.now();
  const { attempts, next } = delivery;
  const dueAt = Math.max(now, next?.dueAt ?? now, slot.at - SLOT_LEAD_MS - lagOf(delivery, now));
  const { by } = planWakeUp(dueAt, now, thresholdFor(slot, settings.schedulerThresholdSeconds));
  return { slot, next: { number: attempts.length + 1, phase: next?.phase ?? 'initial', dueAt, by } };
}

async function wakeForSlot(
  context: DeliverContext,
  waiting: Delivery,
  { next, slot }: PlaceInLine,
): Promise<void> {
  const { key } = waiting;
  context.ports.journal.note({ fact: 'slot_awaited', key, attempt: next.number, slotAt: slot.at });
  await scheduleNext(context, waiting);
}
