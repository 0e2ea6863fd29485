import type { Delivery, DeliveryKey } from '../../shared/domain/delivery/delivery.ts';
import type { DeliveryJob } from '../../shared/domain/delivery/job.ts';
import { awaitSlot, openWaiting, type PlaceInLine } from '../../shared/domain/delivery/place-in-line.ts';
import { toError } from '../../shared/domain/errors.ts';
import { bodyBytes, MAX_BODY_ON_RECORD } from '../../shared/domain/message/body.ts';
import { planWakeUp, thresholdFor } from '../../shared/domain/delivery/wake-up-plan.ts';
import {
  SLOT_LEAD_MS,
  classifySlot,
  toWaitingReason,
  type RateLimit,
  type Slot,
  spreadOut,
} from '../../shared/domain/subscription/rate-limit.ts';
import type { SlotConstraints } from '../../shared/ports/pace.ts';
import { keepMessage } from '../../shared/steps/keep-message.ts';
import { returnSlot } from '../../shared/steps/move-up.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import { endLease, hasTimeForRequest, type LeasedDelivery, type ReceivedWork } from './claim.ts';
import type { DeliverContext, SqsReceipt } from './context.ts';
import type { RequestPlan } from './plan.ts';
import { scheduleNext, MAX_WAIT_MS, sleepUntil } from './wake-up.ts';

/** The most lag to make up for. A longer one is an outage, not a slow queue: the whole backlog arrives at once. */
const MAX_LAG_MS = 15 * 60 * 1000;

/** Reservations per attempt. Slow AWS calls can make a slot expire before its use. */
const MAX_TRIES = 3;
/** How long the delivery waits on record after that. */
const WAIT_AFTER_SLOW_CALLS_MS = 1_000;
const WAIT_AFTER_FAULT_MS = 5_000;

/**
 * Waits for the request's slot in a rate-limited subscription's line: the recorded slot if still valid, else a new
 * one. Undefined: the wait is too long for this invocation. The delivery then waits on record: without a lease, until
 * its wake-up.
 */
export async function waitForSlot(
  context: DeliverContext,
  held: LeasedRequest,
): Promise<{ slotAt: number | undefined } | undefined> {
  const { pace: limit } = held;
  if (limit === undefined || isExempt(held, limit)) return { slotAt: undefined };
  const { clock } = context.ports;
  let slot = held.delivery.slot ?? held.slot;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    slot = await validOrNew(context, held, limit, slot);
    if (!isWorthWaiting(context, held, slot)) {
      await waitOnRecord(context, held, slot);
      return undefined;
    }
    const waits = await sleepUntil(slot.at, clock);
    if (classifySlot(slot, limit, clock.now()) === 'good')
      return { slotAt: waits ? slot.at : missedSlot(slot, held) };
  }
  await waitOnRecord(context, held, { at: clock.now() + WAIT_AFTER_SLOW_CALLS_MS });
  return undefined;
}

/** A delivery whose lease this invocation holds, and what its request needs. */
export type LeasedRequest = LeasedDelivery & RequestPlan;

/** An operator's request does not wait for back-pressure; the retries after it wait like all others. */
function isExempt({ work, trigger }: LeasedRequest, { reason }: RateLimit): boolean {
  const isByHand = work.kind === 'wake_up' && work.isUrgent === true && trigger !== 'same_invocation';
  return isByHand && reason !== undefined;
}

/** The recorded slot, if the wake-up came too late for it: the attempt's lateness counts from there. */
function missedSlot({ at }: Slot, { delivery }: LeasedRequest): number | undefined {
  return delivery.slot && Math.min(at, delivery.slot.at);
}

async function validOrNew(
  context: DeliverContext,
  { delivery, stored }: LeasedRequest,
  limit: RateLimit,
  slot: Slot | undefined,
): Promise<Slot> {
  return slot !== undefined && classifySlot(slot, limit, context.ports.clock.now()) !== 'none'
    ? slot
    : reserve(context, delivery.key, limit, { until: stored.message.expiresAt });
}

/**
 * Reserves a slot. If that fails, returns a time to try again, so that the delivery holds no lease and counts no
 * failed receive.
 */
async function reserve(
  { ports }: DeliverContext,
  key: DeliveryKey,
  limit: RateLimit,
  wanted: SlotConstraints,
): Promise<Slot> {
  const { rateLimits, clock, journal } = ports;
  try {
    return spreadOut(await rateLimits.reserve(key, limit, wanted), key.messageId);
  } catch (cause) {
    journal.note({ fact: 'slot_not_reserved', key, error: toError(cause) });
    return { at: clock.now() + WAIT_AFTER_FAULT_MS };
  }
}

function isWorthWaiting(context: DeliverContext, held: LeasedDelivery, { at }: Slot): boolean {
  const now = context.ports.clock.now();
  const waitMs = Math.max(0, at - now);
  return (
    // If the retry queue lags, a wake-up would come after the slot: this invocation waits longer instead.
    waitMs <= MAX_WAIT_MS + computeLag(held.delivery, now) && hasTimeForRequest(context, held, waitMs)
  );
}

/**
 * How late the wake-up for a slot came. If the queue lags, a backlog would miss one slot after another, so the next
 * wake-up is scheduled earlier by this much. If the lag is over, it comes early and the delivery waits once more.
 */
function computeLag({ slot, next }: Pick<Delivery, 'slot' | 'next'>, now: number): number {
  return slot === undefined || next === undefined ? 0 : Math.min(MAX_LAG_MS, Math.max(0, now - next.dueAt));
}

/** Records the delivery as waiting, releases its lease and schedules the wake-up for its slot. */
async function waitOnRecord(context: DeliverContext, held: LeasedDelivery, slot: Slot): Promise<void> {
  const { delivery, receipt, work } = held;
  if (delivery.next === undefined) await keepMessage(context, work);
  const place = placeAt(context, slot, delivery);
  const transition = awaitSlot(delivery, receipt.owner, place, writeTime(context, delivery));
  const waiting = await endLease(context, held, transition);
  if (waiting !== undefined) await wakeForSlot(context, waiting, place);
}

/**
 * Whether a slot may be reserved before the claim. A redelivered or lost job usually has a record already. A body
 * that must be put into the bucket is stored only under a claim: a copy could restore an erased one.
 */
function canReserveBeforeClaim(work: DeliveryJob, { receiveCount }: SqsReceipt): boolean {
  if (work.lost !== undefined || receiveCount > 1) return false;
  return work.body.kind === 'stored' || bodyBytes(work.body.message) <= MAX_BODY_ON_RECORD;
}

/**
 * Reserves the slot of a first attempt before its claim, so that one write instead of two records the wait. Returns
 * `waits` if it was recorded as waiting, the slot if that comes soon, undefined if there is no limit or the delivery
 * already has a record.
 */
export async function reserveBeforeClaim(
  context: DeliverContext,
  { work: job, receipt }: ReceivedWork,
  { pace, stored }: RequestPlan,
): Promise<'waits' | Slot | undefined> {
  if (pace === undefined || job.kind === 'wake_up' || !canReserveBeforeClaim(job, receipt)) return undefined;
  const { ports } = context;
  const slot = await reserve(context, job.key, pace, { until: stored.message.expiresAt });
  const now = ports.clock.now();
  if (slot.at - now <= MAX_WAIT_MS) return slot;
  await keepMessage(context, job);
  const place = placeAt(context, slot);
  const written = await ports.deliveries.write(openWaiting(job, place, writeTime(context, job)));
  if (written.kind === 'refused') {
    await returnSlot(ports, job.key, slot);
    return undefined;
  }
  await wakeForSlot(context, written.delivery, place);
  return 'waits';
}

/**
 * Reserves a slot for the recorded retry, not before the retry is due, and schedules the wake-up for it. False: no
 * limit, no slot now, or a concurrent change; the retry reserves a slot when it is due.
 */
export async function reserveForRetry(
  context: DeliverContext,
  { delivery, pace, stored }: LeasedRequest,
): Promise<boolean> {
  if (pace === undefined || delivery.next === undefined) return false;
  const { key, next } = delivery;
  const from = next.dueAt;
  const slot = await reserve(context, key, pace, { from, until: stored.message.expiresAt });
  if (slot.epoch === undefined) return false;
  const place = placeAt(context, { ...slot, from }, delivery);
  const transition = awaitSlot(delivery, undefined, place, writeTime(context, delivery));
  const written = await context.ports.deliveries.write(transition);
  if (written.kind === 'refused') {
    await returnSlot(context.ports, key, slot);
    return false;
  }
  await wakeForSlot(context, written.delivery, place);
  return true;
}

/** The wake-up comes slightly before the slot, and not before the attempt is due. */
function placeAt(
  { ports, settings }: DeliverContext,
  slot: Slot,
  delivery: Pick<Delivery, 'attempts' | 'next' | 'slot'> = { attempts: [] },
): PlaceInLine {
  const now = ports.clock.now();
  const { attempts, next } = delivery;
  const dueAt = Math.max(now, next?.dueAt ?? now, slot.at - SLOT_LEAD_MS - computeLag(delivery, now));
  const { by } = planWakeUp(dueAt, now, thresholdFor(slot, settings.schedulerThresholdSeconds));
  return { slot, next: { number: attempts.length + 1, phase: next?.phase ?? 'initial', dueAt, by } };
}

async function wakeForSlot(
  context: DeliverContext,
  waiting: Delivery,
  { next, slot }: PlaceInLine,
): Promise<void> {
  const { key } = waiting;
  const { at: slotAt } = slot;
  const reason = toWaitingReason(slot);
  context.ports.journal.note({ fact: 'slot_awaited', key, attempt: next.number, slotAt, reason });
  await scheduleNext(context, waiting);
}
