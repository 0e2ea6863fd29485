import { type Attempt, withBoundedText } from '../../shared/domain/delivery/attempt.ts';
import {
  ADDRESS_FORBIDDEN,
  disablingReason,
  outcomeOf,
  type Reply,
} from '../../shared/domain/delivery/outcome.ts';
import { release } from '../../shared/domain/delivery/transitions.ts';
import type { CompletedRetryPolicy } from '../../shared/domain/retry/policy.ts';
import { policyOfRound } from '../../shared/domain/subscription/delivery-policy.ts';
import {
  absenceOf,
  attemptTimeoutOf,
  type Subscription,
} from '../../shared/domain/subscription/subscription.ts';
import type { Outcome } from '../../shared/domain/vocabulary.ts';
import { RequestNotSentError } from '../../shared/ports/subscriber.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import { openedCredentials, type OpenedCredentials } from '../../shared/steps/authorise.ts';
import { signedRequest } from '../../shared/steps/sign-request.ts';
import { isAuthOutdated, postAuthorised } from './authorised-post.ts';
import type { DeliverContext } from './context.ts';
import { recordHealth } from './health.ts';
import {
  cancelHeld,
  endHeld,
  hasTimeForRequest,
  releaseOnFault,
  timeLeftMs,
  type LoadedDelivery,
} from './held.ts';
import { waitForSlot } from './rate-limit.ts';
import { record, type AttemptResult } from './record.ts';
import { scheduleNext, sendAgain } from './wake-up.ts';

/** A delivery whose request can be sent now. */
type ReadyDelivery = LoadedDelivery &
  OpenedCredentials & {
    subscription: Subscription;
    policy: CompletedRetryPolicy;
    /** The rate-limit slot that the request waited for or missed; undefined: the limit did not delay it. */
    slotAt: number | undefined;
  };

/**
 * Makes the due attempt and records it. Returns the delivery, still leased, if this invocation makes an immediate
 * retry.
 * @throws UnopenedSecretError, RequestNotSentError, or the error of a failed AWS service
 */
export async function makeAttempt(
  context: DeliverContext,
  held: LoadedDelivery,
): Promise<LoadedDelivery | undefined> {
  const ready = await releaseOnFault(context, held, () => prepareRequest(context, held));
  if (ready === undefined) return undefined;
  const result = await post(context, ready);
  const { retried } = await record(context, held, ready.policy, result);
  const { queue, subscription } = ready;
  // The health of a disabled subscription no longer matters.
  if (disablingReason(result.reply) === undefined)
    await recordHealth(context, { queue, subscription, result });
  return retried;
}

/**
 * Reads and checks what the request needs. Undefined: no request now; the delivery is cancelled, waits for a slot, or
 * was released and sent again.
 */
async function prepareRequest(
  context: DeliverContext,
  claimed: LoadedDelivery,
): Promise<ReadyDelivery | undefined> {
  const held = await withCurrentSubscription(context, claimed);
  const subscription = await subscriptionOrCancel(context, held);
  if (subscription === undefined) return undefined;
  const { secretOpener, clock } = context.ports;
  const credentials = await openedCredentials(secretOpener, subscription, clock.now());
  const slot = await waitForSlot(context, { ...held, subscription });
  if (slot === undefined) return undefined;
  // The calls since the claim may have been slow. If the lease ended during the request, a second request could
  // start.
  if (!hasTimeForRequest(context, timeLeftMs(context, held))) {
    await releaseUnsent(context, held);
    return undefined;
  }
  // The subscription or the message may have expired during the wait.
  if ((await subscriptionOrCancel(context, held)) === undefined) return undefined;
  return {
    ...held,
    subscription,
    ...credentials,
    policy: policyOfRound(held.delivery, held, context.settings),
    slotAt: slot.slotAt,
  };
}

/** Reads the subscription again before an immediate retry, so that every retry uses its current state. */
async function withCurrentSubscription(
  { ports }: DeliverContext,
  held: LoadedDelivery,
): Promise<LoadedDelivery> {
  if (held.trigger !== 'same_invocation') return held;
  const { queue, subscriptionId } = held.delivery.key;
  return { ...held, ...(await ports.subscriptions.find(queue, subscriptionId, 'fresh')) };
}

/** The subscription, if it is active and the message has not expired. Otherwise cancels the delivery. */
async function subscriptionOrCancel(
  context: DeliverContext,
  held: LoadedDelivery,
): Promise<Subscription | undefined> {
  const { subscription, message } = held;
  const now = context.ports.clock.now();
  const isExpired = message.expiresAt !== undefined && message.expiresAt <= now;
  const reason = isExpired ? 'message_expired' : absenceOf(subscription, now, message.id);
  if (reason === undefined && subscription !== undefined) return subscription;
  await cancelHeld(context, held, reason ?? 'subscription_deleted');
  return undefined;
}

/** Releases the lease and schedules the attempt again. Call it only if no request was sent. */
async function releaseUnsent(context: DeliverContext, held: LoadedDelivery): Promise<void> {
  const { work, receipt, delivery } = held;
  const attempt = delivery.attempts.length + 1;
  context.ports.journal.note({ fact: 'sent_again', key: delivery.key, attempt });
  const at = writeTime(context, delivery);
  const released = await endHeld(context, held, release(delivery, receipt.owner, at));
  if (released === undefined) return;
  if (delivery.next === undefined) await sendAgain(context, work, at.now);
  else await scheduleNext(context, released);
}

/**
 * Sends the request. Every subscriber failure is a result, not an error.
 * @throws RequestNotSentError if the request did not leave the function
 */
async function post(context: DeliverContext, ready: ReadyDelivery): Promise<AttemptResult> {
  const { clock } = context.ports;
  const startedAt = clock.now();
  const reply = await replyOrRelease(context, ready, startedAt);
  const durationMs = clock.now() - startedAt;
  const dueAt = dueAtOf(ready);
  const decided = outcomeOf(reply, ready.policy.policy.retry_on_status);
  // A rejection would be final, although the current credentials may be accepted.
  const isRetried =
    decided === 'rejected' && (await isAuthOutdated(context.ports, ready.subscription, reply));
  const outcome = isRetried ? 'failed' : decided;
  return { attempt: attemptOf(ready, { startedAt, durationMs, dueAt, reply, outcome }), reply, dueAt };
}

/** Releases the lease if no request was sent. After any other error the request may have reached the subscriber. */
function replyOrRelease(context: DeliverContext, ready: ReadyDelivery, startedAt: number): Promise<Reply> {
  const { ports, settings } = context;
  const { message, subscription } = ready;
  const { userAgent } = settings;
  const request = signedRequest(message, subscription, { secrets: ready.secrets, startedAt, userAgent });
  const timeoutMs = attemptTimeoutOf(ready, settings.attemptTimeoutMs);
  const wasNotSent = (fault: unknown): boolean => fault instanceof RequestNotSentError;
  return releaseOnFault(
    context,
    ready,
    () => postAuthorised(ports, { ...ready, request }, timeoutMs),
    wasNotSent,
  );
}

/** When the attempt was due: the policy's time, or the rate-limit slot if that is later. */
function dueAtOf({ delivery, slotAt }: ReadyDelivery): number | undefined {
  const policyDueAt = delivery.next?.dueAt;
  return slotAt === undefined ? policyDueAt : Math.max(slotAt, policyDueAt ?? slotAt);
}

function attemptOf(
  { delivery, subscription, trigger }: ReadyDelivery,
  {
    startedAt,
    durationMs,
    dueAt,
    reply,
    outcome,
  }: { startedAt: number; durationMs: number; dueAt: number | undefined; reply: Reply; outcome: Outcome },
): Attempt {
  const { attempts, round, next, lost } = delivery;
  const attempt: Attempt = {
    number: attempts.length + 1,
    round,
    phase: next?.phase ?? 'initial',
    ...(trigger === undefined ? {} : { by: trigger }),
    ...(next === undefined || dueAt === undefined ? {} : { dueAt }),
    startedAt,
    durationMs,
    outcome,
    ...replyDetails(reply),
    ...(lost > 0 ? { lost } : {}),
    ...(disablingReason(reply) === undefined ? {} : subscriptionVersion(subscription)),
  };
  return withBoundedText(attempt, attempts);
}

function subscriptionVersion({ changedAt }: Subscription): Pick<Attempt, 'subscriptionChangedAt'> {
  return changedAt === undefined ? {} : { subscriptionChangedAt: changedAt };
}

function replyDetails(reply: Reply): Pick<Attempt, 'statusCode' | 'error' | 'snippet'> {
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
