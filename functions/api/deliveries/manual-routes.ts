import { withRetriedWrites } from '../../../shared/domain/contention.ts';
import {
  type Delivery,
  type DeliveryKey,
  isOpen,
  pickIds,
} from '../../../shared/domain/delivery/delivery.ts';
import { deliveryKeyIn, partWith } from '../../../shared/domain/delivery/fan-out.ts';
import { deliveryByHand } from '../../../shared/domain/delivery/interventions.ts';
import { isOfQueue } from '../../../shared/domain/delivery/recreated-queue.ts';
import type { CancelRefusal, SendRefusal } from '../../../shared/domain/delivery/vocabulary.ts';
import { isExpired, type MessageKey } from '../../../shared/domain/message/message.ts';
import { computeRetention } from '../../../shared/domain/retention.ts';
import { isConfirmationId } from '../../../shared/domain/subscription/confirmation.ts';
import { findPauseInForce } from '../../../shared/domain/subscription/pause.ts';
import {
  findAbsence,
  type Subscription,
  type SubscriptionKey,
} from '../../../shared/domain/subscription/subscription.ts';
import type { AbsenceReason } from '../../../shared/domain/subscription/vocabulary.ts';
import type { NamedDeliveries } from '../../../shared/ports/deliveries.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { cancelDelivery, hasUnrecordedDeliveries } from '../../../shared/steps/cancel-delivery.ts';
import { keepForNextRound } from '../../../shared/steps/keep-message.ts';
import { writeTime } from '../../../shared/steps/retention.ts';
import {
  URGENT,
  type InterventionContext,
  openRound,
  retryDelivery,
  wake,
} from '../../../shared/steps/retry-delivery.ts';
import { deliveryViewSchema } from '../../../shared/wire/views/delivery.ts';
import { deliveryView } from '../../../shared/wire/views/shown-delivery.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { noSuchMessage, notFound, RefusedRequest } from '../errors.ts';
import { existingMessage, findWithQueue } from '../existing.ts';
import { messageKey, subscriptionKey } from '../paths.ts';
import { type AddRoute, json, jsonAnswer } from '../route.ts';

const DELIVERY = '/v2/queues/{queue}/messages/{message}/deliveries/{subscription}';

/** The routes that retry or cancel one delivery. */
export function addManualRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit } = dependencies;
  const byHand = createInterventionContext(dependencies);

  addRoute({
    key: `POST ${DELIVERY}/retry`,
    id: 'retryDelivery',
    summary: 'Retries a delivery now',
    description:
      'Makes the next attempt of an open delivery now. Reopens a failed delivery for another round of attempts.',
    answers: { 202: json('The delivery.', deliveryViewSchema) },
    handle: async ({ params, caller }) => {
      const key = await deliveryKey(dependencies, params);
      const result = await retryDelivery(byHand, key);
      if (result.kind === 'refused') throw await retryRefused(dependencies, key, result.why);
      const { round } = result.delivery;
      audit(caller, { change: 'delivery_retried', ...pickIds(key), round });
      return jsonAnswer(deliveryView(result.delivery), 202);
    },
  });

  addRoute({
    key: `POST ${DELIVERY}/send`,
    id: 'sendDelivery',
    summary: 'Sends a message to one subscription now, whether or not it matched',
    description:
      'Gives an ended delivery another round of attempts, also a delivered one. Makes a delivery where the message was ' +
      'filtered or is older than the subscription. Needs the body of the message.',
    answers: { 202: json('The delivery.', deliveryViewSchema) },
    handle: async ({ params, caller }) => {
      const { subscriptionId } = subscriptionKey(params);
      const message = messageKey(params);
      const result = await sendDelivery(byHand, message, subscriptionId);
      if (result.kind === 'refused')
        throw await retryRefused(dependencies, { queue: message.queue, subscriptionId }, result.why);
      const { key, round } = result.delivery;
      audit(caller, { change: 'delivery_sent', ...pickIds(key), round });
      return jsonAnswer(deliveryView(result.delivery), 202);
    },
  });

  addRoute({
    key: `POST ${DELIVERY}/cancel`,
    id: 'cancelDelivery',
    summary: 'Cancels a delivery: no further attempt is made',
    answers: { 200: json('The delivery.', deliveryViewSchema) },
    handle: async ({ params, caller }) => {
      const key = await deliveryKey(dependencies, params);
      const result = await cancelDelivery(byHand, key, 'manual');
      if (result.kind === 'refused') throw cancellationRefused(result.why);
      audit(caller, { change: 'delivery_cancelled', ...pickIds(key) });
      return jsonAnswer(deliveryView(result.delivery));
    },
  });
}

function createInterventionContext(dependencies: ApiDependencies): SendContext {
  const find: SendContext['ports']['subscriptions']['find'] = (queue, subscriptionId) =>
    findWithQueue(dependencies, { queue, subscriptionId });
  return { ports: { ...dependencies, subscriptions: { find } }, settings: dependencies.settings };
}

/** @throws RefusedRequest `not_found` for a missing message or a malformed subscription id */
async function deliveryKey(
  dependencies: ApiDependencies,
  path: { queue: string; message: string; subscription: string },
): Promise<DeliveryKey> {
  const { subscriptionId } = subscriptionKey(path);
  return deliveryKeyIn(await existingMessage(dependencies, messageKey(path)), subscriptionId);
}

async function retryRefused(
  { registry, clock, settings }: ApiDependencies,
  { queue, subscriptionId }: SubscriptionKey,
  why: SendRefusal,
): Promise<RefusedRequest> {
  if (why === 'no_such_message') return noSuchMessage(settings);
  if (why === 'no_such_delivery') return notFound('such delivery');
  if (why !== 'subscription_absent') return new RefusedRequest('conflict', RETRY_REFUSALS[why]);
  const absence = findAbsence(await registry.findSubscription(queue, subscriptionId), clock.now());
  return new RefusedRequest(
    'conflict',
    absence === undefined ? RETRY_REFUSALS.subscription_absent : ABSENCES[absence],
  );
}

/** Which absence of a subscription holds. */
const ABSENCES: Record<AbsenceReason, string> = {
  subscription_deleted: 'the subscription is deleted, or never existed',
  subscription_expired: 'the subscription is expired',
  subscription_unconfirmed: 'the subscription is unconfirmed',
  disabled: 'the subscription is disabled; enable it first',
};

const RETRY_REFUSALS: Record<Exclude<SendRefusal, 'no_such_delivery' | 'no_such_message'>, string> = {
  in_flight: 'an attempt of this delivery is in flight',
  not_begun: 'the first attempt of this delivery has not begun; it starts without a retry',
  being_closed: 'this delivery has just ended and is being completed; try again in a few seconds',
  body_gone:
    'the body of this message is not kept: it was erased, or none of its attempts failed, and when it was accepted only bodies ' +
    'of failed messages were kept. Publish it again under a new id. To keep the bodies of later messages, filtered ones too, ' +
    'set `_retain_messages` of the queue, or the setting `retainMessages`, to `all`',
  too_many_attempts: 'this delivery has reached the limit of recorded attempts; publish the message again',
  message_expired: 'the ttl of this message has expired',
  subscription_absent: 'the subscription got no requests a moment ago; try again',
  paused: 'the subscription or its queue is paused, and its deliveries wait; resume it first',
  open: 'this delivery is still open',
  delivered: 'this delivery has already succeeded',
  recovered_already: 'this recovery has already replayed this delivery',
  contended: 'this delivery keeps changing; try again',
  unfinished:
    'first attempts of this message are still to come, perhaps also for this subscription; try again later, or redrive ' +
    'the delivery dead letters',
};

function cancellationRefused(why: CancelRefusal): RefusedRequest {
  if (why === 'no_such_delivery') return notFound('such delivery');
  return new RefusedRequest('conflict', CANCEL_REFUSALS[why]);
}

const CANCEL_REFUSALS: Record<Exclude<CancelRefusal, 'no_such_delivery'>, string> = {
  over: 'this delivery has already ended',
  not_begun:
    'the first attempt has not begun, and the filter of the subscription may prevent it; cancel the delivery after it begins',
  contended: 'this delivery keeps changing; try again',
};

type SendContext = {
  ports: InterventionContext['ports'] & { deliveries: Pick<NamedDeliveries, 'find' | 'write' | 'add'> };
  settings: InterventionContext['settings'];
};

type SendResult =
  | { kind: 'retried'; delivery: Delivery }
  | { kind: 'refused'; why: SendRefusal; delivery?: Delivery };

/**
 * Sends a message to one subscription by hand: another round for an ended delivery, a new delivery where it was
 * filtered or the subscription is newer. An open delivery is left alone: a repeat makes no further request while the
 * delivery is open, and starts another round once it has ended.
 * @throws when a service fails. The record is written before its wake-up, and reconcile finds a delivery whose wake-up
 * is missing.
 */
export async function sendDelivery(
  context: SendContext,
  message: MessageKey,
  subscriptionId: string,
): Promise<SendResult> {
  const { messageRecords, deliveries } = context.ports;
  const attempt = async (): Promise<SendResult | 'again'> => {
    const record = await messageRecords.find(message);
    if (record === undefined) return refused('no_such_message');
    const key = deliveryKeyIn(record, subscriptionId);
    const current = await deliveries.find(key);
    if (current === undefined) return sendFirst(context, record, key);
    return isOpen(current) ? refused('open') : openRound(context, current, undefined);
  };
  return withRetriedWrites(attempt, () => refused('contended'));
}

/** Makes the delivery that dispatch did not make. */
async function sendFirst(
  context: SendContext,
  record: MessageRecord,
  key: DeliveryKey,
): Promise<SendResult | 'again'> {
  const { ports } = context;
  const why = await firstRefusal(context, record, key);
  if (why !== undefined) return refused(why);
  const of = { ...record, key };
  const message = await keepForNextRound(context, of);
  if (message === undefined) return refused('body_gone');
  const at = writeTime(context, record);
  if (isExpired(message, at.now)) return refused('message_expired');
  const added = await ports.deliveries.add(deliveryByHand(of, at));
  return added.kind === 'refused' ? 'again' : wake(context, added.delivery, URGENT);
}

async function firstRefusal(
  context: SendContext,
  record: MessageRecord,
  { queue, messageId, subscriptionId }: DeliveryKey,
): Promise<SendRefusal | undefined> {
  const { subscriptions, clock } = context.ports;
  // It has the link of another subscription, which must not see it.
  if (isConfirmationId(messageId)) return 'no_such_delivery';
  const { queue: found, subscription } = await subscriptions.find(queue, subscriptionId, 'fresh');
  // The queue was deleted and created again: its subscribers must not see messages of the earlier one.
  if (found !== undefined && !isOfQueue(record, found.createdAt)) return 'no_such_message';
  const now = clock.now();
  if (subscription === undefined || findAbsence(subscription, now) !== undefined)
    return 'subscription_absent';
  if (findPauseInForce({ queue: found, subscription }, now) !== undefined) return 'paused';
  return (await mayStillBeSent(context, record, subscription)) ? 'unfinished' : undefined;
}

/**
 * Whether a first attempt for this subscription may still come from dispatch. Then `matched` counts it already. The
 * records of deliveries expire with the retention, and no job is that old.
 */
async function mayStillBeSent(
  context: SendContext,
  record: MessageRecord,
  { id, createdAt }: Subscription,
): Promise<boolean> {
  if (record.lastSubscriptionId !== undefined) return true;
  const isNewer = createdAt > partWith(record, id).listedAt;
  const isOld = context.ports.clock.now() >= record.acceptedAt + computeRetention(record, context.settings);
  return !isNewer && !isOld && (await hasUnrecordedDeliveries(context, record));
}

function refused(why: SendRefusal): SendResult {
  return { kind: 'refused', why };
}
