import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { isExpired } from '../../shared/domain/message/message.ts';
import type { Payload, RenderFault } from '../../shared/domain/message/payload.ts';
import type { WebhookDestination } from '../../shared/domain/subscription/destination.ts';
import { isConfirmationId } from '../../shared/domain/subscription/confirmation.ts';
import { findPauseInForce } from '../../shared/domain/subscription/pause.ts';
import { computePace } from '../../shared/domain/subscription/back-pressure.ts';
import { computeRateLimit, type RateLimit } from '../../shared/domain/subscription/rate-limit.ts';
import {
  computeAttemptTimeout,
  findAbsence,
  type Queue,
  type Subscription,
} from '../../shared/domain/subscription/subscription.ts';
import { choosePaceSwitches, isSwitchedOn } from '../../shared/domain/subscription/switches.ts';
import type { AbsenceReason, PausedBy } from '../../shared/domain/subscription/vocabulary.ts';
import type { AttemptTrigger, CancelReason } from '../../shared/domain/delivery/vocabulary.ts';
import type { Freshness } from '../../shared/ports/subscriptions.ts';
import { openedCredentials, type OpenedCredentials } from '../../shared/steps/sign-request.ts';
import { messageFor, type StoredMessage } from '../../shared/steps/keep-message.ts';
import type { DeliverContext } from './context.ts';

/**
 * What becomes of a delivery. Everything that can fail is read for it before a lease is taken; only an immediate retry
 * is planned under the lease that it keeps.
 */
export type Plan =
  | RequestPlan
  /** Its receiver fetches it. */
  | { kind: 'pull'; queue: Queue | undefined; subscription: Subscription }
  /** It waits until queue and subscription are resumed. */
  | { kind: 'paused'; by: PausedBy }
  /** `subscription`: an absent one, while its record stays. */
  | { kind: 'cancel'; reason: CancelReason; subscription: Subscription | undefined }
  /** Its message should exist, and does not. */
  | { kind: 'missing_message' };

/** Its destination is called. */
export type RequestPlan = {
  kind: 'request';
  queue: Queue | undefined;
  subscription: Subscription;
  destination: WebhookDestination;
  stored: StoredMessage;
  /** A fault is the result of the attempt: no request is made. */
  payload: Payload | RenderFault;
  credentials: OpenedCredentials;
  /** The line that its requests wait in. */
  pace: RateLimit | undefined;
  /** What starts the attempt; undefined: its message does. */
  trigger: AttemptTrigger | undefined;
};

/** The subscription of a delivery and its queue. `absence`, `pausedBy`: why it gets no requests. */
type Recipient = {
  queue: Queue | undefined;
  subscription: Subscription | undefined;
  absence: AbsenceReason | undefined;
  pausedBy: PausedBy | undefined;
};

type MessageRead = Awaited<ReturnType<typeof messageFor>>;

/**
 * Plans the attempt of a job or wake-up. `read`: reads its message; the members of a chunk share one reading.
 * @throws UnopenedSecretError, and AWS errors
 */
export async function planAttempt(
  context: DeliverContext,
  work: DeliveryJob | WakeUp,
  read: () => Promise<MessageRead> = () => messageFor(context, work),
): Promise<Plan> {
  const trigger = work.kind === 'wake_up' ? work.by : undefined;
  return planFor(context, { recipient: await findRecipient(context, work), read, trigger });
}

/**
 * Plans an immediate retry, with the subscription as it is now.
 * @throws UnopenedSecretError, and AWS errors
 */
export async function planImmediateRetry(
  context: DeliverContext,
  { key }: Pick<DeliveryJob, 'key'>,
  { stored }: RequestPlan,
): Promise<Plan> {
  const recipient = await readRecipient(context, key, 'fresh');
  return planFor(context, { recipient, read: () => Promise.resolve(stored), trigger: 'same_invocation' });
}

async function planFor(
  context: DeliverContext,
  {
    recipient: { queue, subscription, absence, pausedBy },
    read,
    trigger,
  }: { recipient: Recipient; read: () => Promise<MessageRead>; trigger: AttemptTrigger | undefined },
): Promise<Plan> {
  if (subscription === undefined)
    return {
      kind: 'cancel',
      reason: queue === undefined ? 'queue_deleted' : 'subscription_deleted',
      subscription,
    };
  if (absence !== undefined) return { kind: 'cancel', reason: absence, subscription };
  const { destination } = subscription;
  switch (destination.kind) {
    case 'pull':
      return { kind: 'pull', queue, subscription };
    case 'webhook':
      return pausedBy === undefined
        ? planRequest(context, { queue, subscription, destination, trigger }, await read())
        : { kind: 'paused', by: pausedBy };
  }
}

async function planRequest(
  context: DeliverContext,
  recipient: Pick<RequestPlan, 'queue' | 'subscription' | 'destination' | 'trigger'>,
  stored: MessageRead,
): Promise<Plan> {
  const { queue, subscription } = recipient;
  if (stored === 'missing') return { kind: 'missing_message' };
  if (stored === 'erased') return { kind: 'cancel', reason: 'body_erased', subscription };
  const { clock, render, secretOpener } = context.ports;
  if (isExpired(stored.message, clock.now()))
    return { kind: 'cancel', reason: 'message_expired', subscription };
  const credentials = await openedCredentials(secretOpener, subscription, clock.now());
  const payload = await render(stored.message, subscription);
  const pace = paceFor(context, { queue, subscription });
  return { kind: 'request', ...recipient, stored, payload, credentials, pace };
}

/**
 * An absent subscription is read again without the cache: it may have been enabled or confirmed. So is a paused one, and a
 * paced one, because all its deliveries must use the same line. An operator's test is sent in spite of a pause.
 */
async function findRecipient(context: DeliverContext, work: DeliveryJob | WakeUp): Promise<Recipient> {
  const { kind, key } = work;
  if (kind === 'wake_up') return readRecipient(context, key, 'fresh');
  const cached = await readRecipient(context, key, 'cached');
  const { queue, subscription, absence, pausedBy } = cached;
  const isPaced = subscription !== undefined && paceFor(context, { queue, subscription }) !== undefined;
  const isSure = absence === undefined && pausedBy === undefined && !isPaced;
  const recipient = isSure ? cached : await readRecipient(context, key, 'fresh');
  return work.isTest === true ? { ...recipient, pausedBy: undefined } : recipient;
}

async function readRecipient(
  { ports }: DeliverContext,
  { queue, subscriptionId, messageId }: DeliveryJob['key'],
  freshness: Freshness,
): Promise<Recipient> {
  const found = await ports.subscriptions.find(queue, subscriptionId, freshness);
  const now = ports.clock.now();
  const absence = findAbsence(found.subscription, now, messageId);
  const isPausable = !isConfirmationId(messageId);
  return { ...found, absence, pausedBy: isPausable ? findPauseInForce(found, now)?.by : undefined };
}

/** The line that the subscription's requests wait in: by `max_per_second`, by back-pressure, or by both. */
function paceFor(
  { ports, settings }: DeliverContext,
  { queue, subscription }: Pick<RequestPlan, 'queue' | 'subscription'>,
): RateLimit | undefined {
  const { pressure } = subscription;
  const isOn =
    pressure !== undefined && isSwitchedOn(pressure, choosePaceSwitches({ queue, subscription }, settings));
  if (!isOn) return computeRateLimit(subscription);
  const attemptTimeoutMs = computeAttemptTimeout({ queue, subscription }, settings.attemptTimeoutMs);
  return computePace(subscription, ports.clock.now(), attemptTimeoutMs);
}

/** Whether a cancelled delivery may be wanted again: its subscription can be enabled, confirmed or restored. */
export function canSubscriptionReturn(
  { settings }: DeliverContext,
  { reason, subscription }: Extract<Plan, { kind: 'cancel' }>,
): boolean {
  // Without a record it may be in the archive of its queue.
  if (subscription === undefined) return settings.leavesArchives;
  if (reason === 'disabled' || reason === 'subscription_unconfirmed') return true;
  return reason === 'subscription_deleted' && subscription.restorableUntil !== undefined;
}

/** Why a request must not be sent any more: subscription and message can expire while it waits for its slot. */
export function findCancelReason(
  { subscription, stored: { message } }: RequestPlan,
  now: number,
): CancelReason | undefined {
  return isExpired(message, now) ? 'message_expired' : findAbsence(subscription, now, message.id);
}
