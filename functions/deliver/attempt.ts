import type { Attempt } from '../../shared/domain/delivery/attempt.ts';
import {
  cancelLeased,
  recordAttempt,
  recordLateResult,
  release,
  type Verdict,
} from '../../shared/domain/delivery/result.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import { isGone } from '../../shared/domain/delivery/outcome.ts';
import { absenceOf, type Subscription } from '../../shared/domain/subscription/subscription.ts';
import { type DeliverContext, hasTimeForRequest, type HeldDelivery, timeLeftMs } from './context.ts';
import { type Going, type Made, makeRequest, openedFor } from './request.ts';
import { keepMessage, keptUntil } from '../../shared/steps/keep-message.ts';
import { momentOf } from '../../shared/steps/moment.ts';
import { payOwed } from './owed.ts';
import { noteHealth } from './health.ts';
import { awaitTurn, turnOf } from './rate-limit.ts';
import { judge } from './verdict.ts';
import { armNext, sendAgain, watchOver } from './wake-up.ts';

/**
 * Makes the attempt that is due, and the immediate retries after it that this invocation may make. The order is body,
 * record, then wake-up or owed; the caller acknowledges last (design §5).
 */
export async function attemptDelivery(context: DeliverContext, first: HeldDelivery): Promise<void> {
  let held: HeldDelivery | undefined = first;
  while (held !== undefined) held = await attemptOnce(context, held);
}

/** One attempt; the delivery still held where an immediate retry follows. */
async function attemptOnce(context: DeliverContext, held: HeldDelivery): Promise<HeldDelivery | undefined> {
  const going = await readied(context, held);
  if (going === undefined) return undefined;
  const made = await makeRequest(context, held, going);
  const continued = await record(context, held, made);
  // After a 410 it is disabled; there is nothing more to note.
  if (!isGone(made.reply)) await noteHealth(context, going.subscription, made.attempt);
  return continued && (await lookedUpAnew(context, continued));
}

/** Everything that the request needs, at the moment that it is to go. Undefined: it is not to go now, and the record says why. */
async function readied(context: DeliverContext, held: HeldDelivery): Promise<Going | undefined> {
  const subscription = await thereFor(context, held);
  if (subscription === undefined) return undefined;
  const secrets = await openedFor(context, held, subscription);
  const turn = await turnOf(context, held, subscription);
  if (turn.kind === 'later') {
    await awaitTurn(context, held, turn.slot);
    return undefined;
  }
  // Calls since the lease was taken may have been slow. A request that outlived it could be made twice at a time …
  if (!hasTimeForRequest(timeLeftMs(context, held), context.settings)) {
    await giveBack(context, held);
    return undefined;
  }
  // … and meanwhile the subscription or the message may have expired.
  return (await thereFor(context, held)) && { subscription, secrets, turn };
}

/** Whom the request is for, if they and the message are there at this moment; else the delivery is ended. */
async function thereFor(context: DeliverContext, held: HeldDelivery): Promise<Subscription | undefined> {
  const { subscription } = held.target;
  const ending = endingOf(held, context.ports.clock.now());
  if (ending === undefined && subscription !== undefined) return subscription;
  await cancelHeld(context, held, ending ?? 'subscription_deleted');
  return undefined;
}

async function lookedUpAnew({ ports }: DeliverContext, held: HeldDelivery): Promise<HeldDelivery> {
  const { queue, subscriptionId } = held.delivery.key;
  return { ...held, target: await ports.subscriptions.find(queue, subscriptionId, 'fresh') };
}

/** Nothing was sent, so whoever comes next begins the attempt anew. */
async function giveBack(context: DeliverContext, { delivery, work, received }: HeldDelivery): Promise<void> {
  const { ports } = context;
  ports.journal.note({ fact: 'time_given_back', key: delivery.key, attempt: delivery.attempts.length + 1 });
  const at = momentOf(context);
  const result = await ports.deliveries.write(release(delivery, received.owner, at));
  if (result.kind === 'refused') {
    await watchOver(context, work, result.current);
    return;
  }
  if (delivery.next === undefined) await sendAgain(context, work, at.now);
  else await armNext(context, result.delivery);
}

function endingOf({ target, message }: HeldDelivery, now: number): string | undefined {
  if (message.expiresAt !== undefined && message.expiresAt <= now) return 'message_expired';
  return absenceOf(target.subscription, now, message.id);
}

async function record(
  context: DeliverContext,
  held: HeldDelivery,
  made: Made,
): Promise<HeldDelivery | undefined> {
  const { ports, settings } = context;
  const { delivery, received } = held;
  const { attempt } = made;
  const verdict = judge(context, held, made.attempt, made.reply);
  // Kept once, before the first failure is on record; an immediate retry finds it kept.
  if (verdict.kind !== 'delivered' && delivery.attempts.length === 0) {
    await keepMessage(ports, held.work, keptUntil(ports.clock.now(), settings));
  }
  const at = momentOf(context);
  const result = await ports.deliveries.write(
    recordAttempt(delivery, received.owner, { attempt, verdict }, at),
  );
  if (result.kind === 'refused') {
    await recordLate(context, held, attempt, result.current);
    return undefined;
  }
  noteAttempt(context, held, made, result.delivery);
  return continueOrClose(context, { ...held, delivery: result.delivery }, verdict);
}

async function continueOrClose(
  context: DeliverContext,
  held: HeldDelivery,
  verdict: Verdict,
): Promise<HeldDelivery | undefined> {
  switch (verdict.kind) {
    case 'delivered':
      return undefined;
    case 'retry':
      if (verdict.lease !== undefined) return { ...held, by: 'same_invocation' };
      await armNext(context, held.delivery);
      return undefined;
    case 'rejected':
    case 'exhausted':
      await payOwed(context, held.delivery, held.body);
      return undefined;
  }
}

/** Our lease is gone: somebody took over, or the delivery was ended meanwhile. What came back is on record all the same. */
async function recordLate(
  context: DeliverContext,
  { work }: HeldDelivery,
  attempt: Attempt,
  current: Delivery | undefined,
): Promise<void> {
  const { ports } = context;
  let found = current;
  while (found !== undefined) {
    const at = momentOf(context);
    const result = await ports.deliveries.write(recordLateResult(found, attempt, at));
    if (result.kind === 'written') {
      const decisive = result.delivery.status !== found.status;
      ports.journal.note({ fact: 'late_result', key: work.key, attempt, decisive });
      await watchOver(context, work, result.delivery);
      return;
    }
    // Delivered by another hand between our read and our write: then the result is simply added.
    found = result.current;
  }
}

async function cancelHeld(context: DeliverContext, held: HeldDelivery, reason: string): Promise<void> {
  const { ports } = context;
  const at = momentOf(context);
  const result = await ports.deliveries.write(cancelLeased(held.delivery, held.received.owner, reason, at));
  if (result.kind === 'refused') await watchOver(context, held.work, result.current);
  else ports.journal.note({ fact: 'delivery_cancelled', key: held.delivery.key, reason });
}

function noteAttempt(
  context: DeliverContext,
  held: HeldDelivery,
  { attempt, dueAt = firstDueAt(held) }: Made,
  recorded: Delivery,
): void {
  const { next } = recorded;
  context.ports.journal.note({
    fact: 'attempt_made',
    key: recorded.key,
    attempt,
    status: recorded.status,
    dueAt,
    latenessMs: attempt.startedAt - dueAt,
    ...(next === undefined ? {} : { nextAt: next.dueAt, nextBy: next.by }),
  });
}

function firstDueAt({ work, delivery }: HeldDelivery): number {
  return work.dueAt ?? (work.kind === 'job' ? work.sentAt : undefined) ?? delivery.acceptedAt;
}
