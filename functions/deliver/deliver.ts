import type { Entry } from '../../shared/domain/delivery/entry.ts';
import type { DeliveryJob, FirstJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { cancelLeased } from '../../shared/domain/delivery/result.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import { rateLimitOf } from '../../shared/domain/subscription/rate-limit.ts';
import { absenceOf, type Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { Freshness } from '../../shared/ports/subscriptions.ts';
import { attemptDelivery } from './attempt.ts';
import {
  type DeliverContext,
  hasTimeForAttempt,
  type HeldDelivery,
  leaseUntil,
  type Received,
} from './context.ts';
import { keepMessage, keptBody, keptUntil, messageFor } from '../../shared/steps/keep-message.ts';
import { momentOf } from '../../shared/steps/moment.ts';
import { payOwed } from './owed.ts';
import { noteAbsence } from './health.ts';
import { takeDelivery, type Taking } from './claim.ts';
import { armNext, sendAgain, watchOver } from './wake-up.ts';

/** Nearer than this to its due time a job or wake-up is waited for; earlier, SQS brings it back. */
const WORTH_WAITING_MS = 1_000;

/**
 * One job or wake-up, to the end of what can be done about it now (design §5). It returns when the message may be
 * acknowledged, and throws when it must come again: nothing that a subscriber does throws, only our own services.
 */
export async function deliver(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  received: Received,
): Promise<void> {
  const { ports, settings } = context;
  if (await sentOn(context, work, work.dueAt)) return;
  if (!hasTimeForAttempt(received, settings)) {
    ports.journal.note({ fact: 'time_given_back', key: work.key, attempt: work.attempt });
    await sendAgain(context, work, ports.clock.now());
    return;
  }
  await enterAndAttempt(context, work, received);
}

/** The same for one that is due and has its time: enters the delivery, and attempts it. */
export async function enterAndAttempt(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  received: Received,
): Promise<void> {
  const { ports, settings } = context;
  const { target, absence } = await lookedUp(context, work);
  // What was not sent to a subscription that may come back can be recovered then, so its message has to be there.
  if (absence === 'disabled' || absence === 'subscription_unconfirmed')
    await keepMessage(ports, work, keptUntil(ports.clock.now(), settings));
  const now = ports.clock.now();
  const entry: Entry =
    absence === undefined
      ? { kind: 'lease', lease: { owner: received.owner, until: leaseUntil(now, settings) } }
      : { kind: 'cancel', reason: absence };
  const taking = await takeDelivery(context, work, entry);
  if (taking.kind === 'taken' && entry.kind === 'cancel') {
    ports.journal.note({ fact: 'delivery_cancelled', key: work.key, reason: entry.reason });
    if (target.subscription !== undefined) await noteAbsence(context, target.subscription);
    return;
  }
  await follow(context, { work, received, target }, taking);
}

/**
 * What a cache says against a subscription is asked again: it may have been enabled or confirmed since. So is what limits its
 * rate: two who go by different limits would not stand in one line.
 */
async function lookedUp({ ports }: DeliverContext, { kind, key }: DeliveryJob | WakeUp) {
  const { queue, subscriptionId, messageId } = key;
  const lookUp = async (freshness: Freshness) => {
    const target = await ports.subscriptions.find(queue, subscriptionId, freshness);
    return { target, absence: absenceOf(target.subscription, ports.clock.now(), messageId) };
  };
  if (kind === 'wake_up') return lookUp('fresh');
  const cached = await lookUp('cached');
  return cached.absence === undefined && !isLimited(cached.target.subscription) ? cached : lookUp('fresh');
}

function isLimited(subscription: Subscription | undefined): boolean {
  return subscription !== undefined && rateLimitOf(subscription) !== undefined;
}

type Arrival = Pick<HeldDelivery, 'work' | 'received' | 'target'>;

async function follow(context: DeliverContext, arrival: Arrival, taking: Taking): Promise<void> {
  const { ports } = context;
  const { work } = arrival;
  switch (taking.kind) {
    case 'taken':
      await attemptTaken(context, arrival, taking.delivery);
      return;
    case 'early':
      await followEarly(context, arrival, taking);
      return;
    case 'recorded':
      if (hasComeBefore(arrival)) await armNext(context, taking.delivery);
      return;
    case 'owing':
      await payOwed(context, taking.delivery, await keptBody(ports, work.key));
      return;
    case 'first_in_flight':
      // SQS may hand out one message twice, and whoever acknowledges it deletes it for both. So a copy comes back when the
      // lease has run out, in the place of the message that the holder's death would else bring back.
      await sendAgain(context, work, taking.until);
      return;
    case 'dropped':
      ports.journal.note({
        fact: 'wake_up_dropped',
        key: work.key,
        attempt: work.attempt,
        reason: taking.reason,
      });
      return;
  }
}

/** The job of a delivery that waits for a slot has done its part: the wake-up that was set for the slot brings it about. */
async function followEarly(
  context: DeliverContext,
  { work, received }: Arrival,
  { delivery, dueAt }: Extract<Taking, { kind: 'early' }>,
): Promise<void> {
  if (work.kind === 'wake_up') {
    if (!(await sentOn(context, work, dueAt))) await enterAndAttempt(context, work, received);
  } else if (hasComeBefore({ work, received })) {
    await armNext(context, delivery);
  }
}

/**
 * This very message was received before and not acknowledged, or is for an attempt that somebody did not come back from:
 * they may have died before arming.
 */
function hasComeBefore({ work, received }: Pick<Arrival, 'work' | 'received'>): boolean {
  return received.receiveCount > 1 || (work.kind === 'job' && work.lost !== undefined);
}

async function attemptTaken(context: DeliverContext, arrival: Arrival, delivery: Delivery): Promise<void> {
  const found = await messageFor(context.ports, arrival.work);
  if (found === undefined) {
    await endWithoutMessage(context, arrival, delivery);
    return;
  }
  const by = arrival.work.kind === 'wake_up' ? arrival.work.by : undefined;
  await attemptDelivery(context, { ...arrival, delivery, ...found, ...(by === undefined ? {} : { by }) });
}

/**
 * A retry that finds no body can never succeed, and its record says why. One that was erased was meant to be gone; any other
 * is dead-lettered for a person to see.
 */
async function endWithoutMessage(
  context: DeliverContext,
  { work, received }: Arrival,
  delivery: Delivery,
): Promise<void> {
  const { ports } = context;
  const isErased = (await ports.messageRecords.find(work.key))?.erasedAt !== undefined;
  const reason = isErased ? 'body_erased' : 'body_missing';
  if (!isErased) {
    await ports.deadLetters.bury({ id: received.id, body: received.text }, reason);
    ports.journal.note({ fact: 'dead_lettered', id: received.id, reason, key: work.key });
  }
  const at = momentOf(context);
  const result = await ports.deliveries.write(cancelLeased(delivery, received.owner, reason, at));
  if (result.kind === 'refused') await watchOver(context, work, result.current);
  else ports.journal.note({ fact: 'delivery_cancelled', key: delivery.key, reason });
}

/** True: it was early, and is on its way again. False: it is due now, having been waited for if it was nearly so. */
export async function sentOn(context: DeliverContext, work: FirstJob | WakeUp, dueAt = 0): Promise<boolean> {
  const { clock } = context.ports;
  if (dueAt - clock.now() > WORTH_WAITING_MS) {
    await sendAgain(context, work, dueAt);
    return true;
  }
  while (clock.now() < dueAt) await clock.sleep(dueAt - clock.now());
  return false;
}
