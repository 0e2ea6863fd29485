import { type Attempt, withBoundedText } from '../../shared/domain/delivery/attempt.ts';
import { ADDRESS_FORBIDDEN, isGone, outcomeOf, type Reply } from '../../shared/domain/delivery/outcome.ts';
import { release } from '../../shared/domain/delivery/transitions.ts';
import { webhookRequest } from '../../shared/domain/delivery/webhook-request.ts';
import { policyInForce } from '../../shared/domain/retry/policy.ts';
import { secretsInForce } from '../../shared/domain/subscription/secret-rotation.ts';
import type { SigningSecret } from '../../shared/domain/subscription/signing-secret.ts';
import {
  absenceOf,
  attemptTimeoutOf,
  type Subscription,
} from '../../shared/domain/subscription/subscription.ts';
import { RequestNotSentError } from '../../shared/ports/subscriber.ts';
import type { SecretOpener } from '../../shared/ports/subscriptions.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import type { DeliverContext } from './context.ts';
import { noteHealth } from './health.ts';
import { cancelHeld, endHeld, hasTimeForRequest, releasedOnFault, timeLeftMs, type Loaded } from './held.ts';
import { takeTurn } from './rate-limit.ts';
import { record, type AttemptResult, type FollowedPolicy } from './record.ts';
import { scheduleNext, sendAgain } from './wake-up.ts';

/** A delivery whose request can go now. */
type Ready = Loaded & {
  subscription: Subscription;
  policy: FollowedPolicy;
  /** What it may be signed with. */
  secrets: readonly OpenedSecret[];
  /** The slot that it had to wait for, where its subscription limits the rate. */
  slotAt: number | undefined;
};

/**
 * Makes the attempt that is due and records it. Returns the delivery, still held, where this invocation makes an immediate
 * retry next.
 * @throws UnopenedSecretError, RequestNotSentError, and where one of our own services fails
 */
export async function makeAttempt(context: DeliverContext, held: Loaded): Promise<Loaded | undefined> {
  const ready = await releasedOnFault(context, held, () => prepare(context, held));
  if (ready === undefined) return undefined;
  const result = await post(context, ready);
  const retried = await record(context, held, ready.policy, result);
  // After a 410 it is disabled; there is nothing more to note.
  if (!isGone(result.reply)) await noteHealth(context, ready.subscription, result.attempt);
  return retried;
}

/** Gathers what the request needs. Undefined: it does not go now, and the record says why. */
async function prepare(context: DeliverContext, claimed: Loaded): Promise<Ready | undefined> {
  const held = await withCurrentSubscription(context, claimed);
  const subscription = await subscriptionOrCancel(context, held);
  if (subscription === undefined) return undefined;
  // Nothing goes out unsigned because KMS does not answer.
  const secrets = await openedSecrets(context.ports.secretOpener, subscription, context.ports.clock.now());
  const turn = await takeTurn(context, held, subscription);
  if (turn === undefined) return undefined;
  // The calls since the lease was taken may have been slow. A request that outlived it could be made twice at a time …
  if (!hasTimeForRequest(context, timeLeftMs(context, held))) {
    await giveBack(context, held);
    return undefined;
  }
  // … and meanwhile the subscription or the message may have expired.
  if ((await subscriptionOrCancel(context, held)) === undefined) return undefined;
  return { ...held, subscription, secrets, policy: policyFor(context, held), slotAt: turn.slotAt };
}

/** An immediate retry goes by the subscription as it is by then, like every other retry. */
async function withCurrentSubscription({ ports }: DeliverContext, held: Loaded): Promise<Loaded> {
  if (held.broughtBy !== 'same_invocation') return held;
  const { queue, subscriptionId } = held.delivery.key;
  return { ...held, ...(await ports.subscriptions.find(queue, subscriptionId, 'fresh')) };
}

/** The policy kept since the round's first failure; before that, the one in force now. */
function policyFor({ settings }: DeliverContext, { delivery, queue, subscription }: Loaded): FollowedPolicy {
  if (delivery.policy !== undefined) return { policy: delivery.policy };
  return policyInForce({
    subscription: subscription?.options._retry_policy,
    queue: queue?.retryPolicy,
    defaults: settings.defaultRetryPolicy,
  });
}

/** Who is called, if both they and the message are there at this moment; else the delivery is cancelled. */
async function subscriptionOrCancel(
  context: DeliverContext,
  held: Loaded,
): Promise<Subscription | undefined> {
  const { subscription, message } = held;
  const now = context.ports.clock.now();
  const isExpired = message.expiresAt !== undefined && message.expiresAt <= now;
  const reason = isExpired ? 'message_expired' : absenceOf(subscription, now, message.id);
  if (reason === undefined && subscription !== undefined) return subscription;
  await cancelHeld(context, held, reason ?? 'subscription_deleted');
  return undefined;
}

/** A secret, and until when it may sign. */
type OpenedSecret = { secret: SigningSecret; expiresAt?: number };

/**
 * The secrets of a subscription that are in force, opened. Empty for one from before there were signatures.
 * @throws UnopenedSecretError for any one of them: a receiver may know just that one.
 */
export function openedSecrets(
  opener: SecretOpener,
  { id, queue, secrets = [] }: Subscription,
  now: number,
): Promise<readonly OpenedSecret[]> {
  return Promise.all(
    secretsInForce(secrets, now).map(async ({ sealed, ...end }) => ({
      secret: await opener.open({ queue, subscriptionId: id }, sealed),
      ...end,
    })),
  );
}

/** Nothing was sent, so the next invocation begins the attempt anew. */
async function giveBack(context: DeliverContext, held: Loaded): Promise<void> {
  const { work, receipt, delivery } = held;
  const attempt = delivery.attempts.length + 1;
  context.ports.journal.note({ fact: 'time_given_back', key: delivery.key, attempt });
  const at = writeTime(context);
  const released = await endHeld(context, held, release(delivery, receipt.owner, at));
  if (released === undefined) return;
  if (delivery.next === undefined) await sendAgain(context, work, at.now);
  else await scheduleNext(context, released);
}

/** Makes the request. Anything that the subscriber does is a result, never an error. @throws RequestNotSentError */
async function post(context: DeliverContext, ready: Ready): Promise<AttemptResult> {
  const { clock } = context.ports;
  const startedAt = clock.now();
  const reply = await replyOrRelease(context, ready, startedAt);
  const durationMs = clock.now() - startedAt;
  const dueAt = dueOf(ready);
  return { attempt: attemptOf(ready, { startedAt, durationMs, dueAt, reply }), reply, dueAt };
}

/** The lease is given up where nothing was sent. After any other error, as after a crash, the request may have been made. */
function replyOrRelease(context: DeliverContext, ready: Ready, startedAt: number): Promise<Reply> {
  const { ports, settings } = context;
  const { message, subscription } = ready;
  const secrets = secretsInForce(ready.secrets, startedAt).map(({ secret }) => secret);
  const request = webhookRequest(message, subscription, {
    startedAt,
    userAgent: settings.userAgent,
    secrets,
  });
  const timeoutMs = attemptTimeoutOf(subscription, settings.attemptTimeoutMs);
  const wasNotSent = (fault: unknown): boolean => fault instanceof RequestNotSentError;
  return releasedOnFault(context, ready, () => ports.subscriber.post(request, timeoutMs), wasNotSent);
}

/** By its policy, or by the slot that it had to wait for. */
function dueOf({ delivery, slotAt }: Ready): number | undefined {
  const policyDueAt = delivery.next?.dueAt;
  return slotAt === undefined ? policyDueAt : Math.max(slotAt, policyDueAt ?? slotAt);
}

function attemptOf(
  { delivery, subscription, policy: { policy }, broughtBy }: Ready,
  {
    startedAt,
    durationMs,
    dueAt,
    reply,
  }: { startedAt: number; durationMs: number; dueAt: number | undefined; reply: Reply },
): Attempt {
  const { attempts, round, next, lost } = delivery;
  const attempt: Attempt = {
    number: attempts.length + 1,
    round,
    phase: next?.phase ?? 'initial',
    ...(broughtBy === undefined ? {} : { by: broughtBy }),
    ...(next === undefined || dueAt === undefined ? {} : { dueAt }),
    startedAt,
    durationMs,
    outcome: outcomeOf(reply, policy.retry_on_status),
    ...detailsOf(reply),
    ...(lost > 0 ? { lost } : {}),
    ...(isGone(reply) ? goneAs(subscription) : {}),
  };
  return withBoundedText(attempt, attempts);
}

function goneAs({ changedAt }: Subscription): Pick<Attempt, 'subscriptionChangedAt'> {
  return changedAt === undefined ? {} : { subscriptionChangedAt: changedAt };
}

function detailsOf(reply: Reply): Pick<Attempt, 'statusCode' | 'error' | 'snippet'> {
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
}
