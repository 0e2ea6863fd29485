import { withBoundedText, type Attempt } from '../domain/attempt.ts';
import {
  cancelLeased,
  recordAttempt,
  recordLateResult,
  release,
  type Verdict,
} from '../domain/delivery-result.ts';
import type { Delivery } from '../domain/delivery.ts';
import { ADDRESS_FORBIDDEN, isGone, outcomeOf, type Reply } from '../domain/outcome.ts';
import { secretsInForce } from '../domain/secret-rotation.ts';
import { absenceOf, attemptTimeoutOf, type Subscription } from '../domain/subscription.ts';
import { webhookRequest } from '../domain/webhook-request.ts';
import { hasTimeForRequest, type DeliverContext } from './deliver-context.ts';
import { timeLeftMs, type HeldDelivery } from './held-delivery.ts';
import { keepMessage, keptUntil } from './message-keeping.ts';
import { momentOf } from './moment.ts';
import { openedFor, type OpenedSecret } from './opened-secrets.ts';
import { payOwed } from './owed.ts';
import { noteHealth } from './subscription-health.ts';
import { awaitTurn, turnOf, type Turn } from './turn.ts';
import { judge, policyFor } from './verdict.ts';
import { armNext, sendAgain, watchOver } from './wake-up-arming.ts';

/**
 * Makes the attempt that is due, and the immediate retries after it that this invocation may make. The order is body,
 * record, then wake-up or owed; the caller acknowledges last (design §5).
 */
export const attemptDelivery = async (context: DeliverContext, first: HeldDelivery): Promise<void> => {
  let held: HeldDelivery | undefined = first;
  while (held !== undefined) held = await attemptOnce(context, held);
};

/** One attempt; the delivery still held where an immediate retry follows. */
const attemptOnce = async (
  context: DeliverContext,
  held: HeldDelivery,
): Promise<HeldDelivery | undefined> => {
  const { ports } = context;
  const { subscription } = held.target;
  const ending = endingOf(held, ports.clock.now());
  if (ending !== undefined || subscription === undefined) {
    await cancelHeld(context, held, ending ?? 'subscription_deleted');
    return undefined;
  }
  const secrets = await openedFor(context, held, subscription);
  const turn = await turnOf(context, held, subscription);
  if (turn.kind === 'later') {
    await awaitTurn(context, held, turn.slot);
    return undefined;
  }
  // Calls since the lease was taken may have been slow. A request that outlived it could be made twice at a time.
  if (!hasTimeForRequest(timeLeftMs(context, held), context.settings)) {
    await giveBack(context, held);
    return undefined;
  }
  const made = await request(context, held, { subscription, secrets, turn });
  const continued = await record(context, held, made);
  // After a 410 it is disabled; there is nothing more to note.
  if (!isGone(made.reply)) await noteHealth(context, subscription, made.attempt);
  return continued && (await lookedUpAnew(context, continued));
};

const lookedUpAnew = async ({ ports }: DeliverContext, held: HeldDelivery): Promise<HeldDelivery> => {
  const { queue, subscriptionId } = held.delivery.key;
  return { ...held, target: await ports.subscriptions.find(queue, subscriptionId, 'fresh') };
};

/** Nothing was sent, so whoever comes next begins the attempt anew. */
const giveBack = async (
  context: DeliverContext,
  { delivery, work, received }: HeldDelivery,
): Promise<void> => {
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
};

const endingOf = ({ target, message }: HeldDelivery, now: number): string | undefined => {
  if (message.expiresAt !== undefined && message.expiresAt <= now) return 'message_expired';
  return absenceOf(target.subscription, now, message.id);
};

type Going = {
  subscription: Subscription;
  secrets: readonly OpenedSecret[];
  turn: Extract<Turn, { kind: 'now' }>;
};

type Made = { attempt: Attempt; reply: Reply; dueAt: number | undefined };

const request = async (
  context: DeliverContext,
  held: HeldDelivery,
  { subscription, secrets: opened, turn }: Going,
): Promise<Made> => {
  const { ports, settings } = context;
  const { delivery, message } = held;
  const startedAt = ports.clock.now();
  const dueAt = dueOf(delivery, turn);
  const secrets = secretsInForce(opened, startedAt).map(({ secret }) => secret);
  const reply = await ports.subscriber.post(
    webhookRequest(message, subscription, { startedAt, userAgent: settings.userAgent, secrets }),
    attemptTimeoutOf(subscription, settings.attemptTimeoutMs),
  );
  const attempt: Attempt = {
    number: delivery.attempts.length + 1,
    round: delivery.round,
    phase: delivery.next?.phase ?? 'initial',
    ...(held.by === undefined ? {} : { by: held.by }),
    ...(delivery.next === undefined || dueAt === undefined ? {} : { dueAt }),
    startedAt,
    durationMs: ports.clock.now() - startedAt,
    outcome: outcomeOf(reply, policyFor(context, held).retry_on_status),
    ...detailsOf(reply),
    ...(delivery.lost > 0 ? { lost: delivery.lost } : {}),
    ...(isGone(reply) ? wentBy(subscription) : {}),
  };
  return { attempt: withBoundedText(attempt, delivery.attempts), reply, dueAt };
};

/** By its policy, or by the slot that it had to wait for. */
const dueOf = ({ next }: Delivery, { slotAt }: Going['turn']): number | undefined =>
  slotAt === undefined ? next?.dueAt : Math.max(slotAt, next?.dueAt ?? slotAt);

const wentBy = ({ changedAt }: Subscription): Pick<Attempt, 'subscriptionChangedAt'> =>
  changedAt === undefined ? {} : { subscriptionChangedAt: changedAt };

const detailsOf = (reply: Reply): Pick<Attempt, 'statusCode' | 'error' | 'snippet'> => {
  switch (reply.kind) {
    case 'answered':
      return {
        statusCode: reply.statusCode,
        ...(reply.snippet === undefined ? {} : { snippet: reply.snippet }),
      };
    case 'unanswered':
      return { error: reply.detail === undefined ? reply.error : `${reply.error}: ${reply.detail}` };
    case 'forbidden':
      return { error: ADDRESS_FORBIDDEN };
  }
};

const record = async (
  context: DeliverContext,
  held: HeldDelivery,
  made: Made,
): Promise<HeldDelivery | undefined> => {
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
};

const continueOrClose = async (
  context: DeliverContext,
  held: HeldDelivery,
  verdict: Verdict,
): Promise<HeldDelivery | undefined> => {
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
};

/** Our lease is gone: somebody took over, or the delivery was ended meanwhile. What came back is on record all the same. */
const recordLate = async (
  context: DeliverContext,
  { work }: HeldDelivery,
  attempt: Attempt,
  current: Delivery | undefined,
): Promise<void> => {
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
};

const cancelHeld = async (context: DeliverContext, held: HeldDelivery, reason: string): Promise<void> => {
  const { ports } = context;
  const at = momentOf(context);
  const result = await ports.deliveries.write(cancelLeased(held.delivery, held.received.owner, reason, at));
  if (result.kind === 'refused') await watchOver(context, held.work, result.current);
  else ports.journal.note({ fact: 'delivery_cancelled', key: held.delivery.key, reason });
};

const noteAttempt = (
  context: DeliverContext,
  held: HeldDelivery,
  { attempt, dueAt = firstDueAt(held) }: Made,
  recorded: Delivery,
): void => {
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
};

const firstDueAt = ({ work, delivery }: HeldDelivery): number =>
  work.dueAt ?? (work.kind === 'job' ? work.sentAt : undefined) ?? delivery.acceptedAt;
