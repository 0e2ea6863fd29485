import type { DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import { deliveryView, deliveryViewSchema } from '../../../shared/wire/views/delivery.ts';
import { deliveryKeyFor } from './deliveries.ts';
import type { AbsenceReason } from '../../../shared/domain/subscription/vocabulary.ts';
import type { CancelRefusal, SendRefusal } from '../../../shared/domain/delivery/vocabulary.ts';
import { absenceOf, type SubscriptionKey } from '../../../shared/domain/subscription/subscription.ts';
import { retryDelivery } from '../../../shared/steps/retry-delivery.ts';
import { cancelDelivery } from '../../../shared/steps/cancel-delivery.ts';
import { type SendContext, sendDelivery } from './send-delivery.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { type AddRoute, json } from '../route.ts';
import { noSuchMessage, notFound, RefusedRequest } from '../errors.ts';
import { messageKey, subscriptionKey } from '../paths.ts';

const DELIVERY = '/v2/queues/:queue/messages/:message/deliveries/:subscription';

type DeliveryPath = { queue: string; message: string; subscription: string };

/** The routes that retry or cancel one delivery. */
export function addManualRoutes(addRoute: AddRoute, dependencies: ApiDependencies): void {
  const { audit } = dependencies;
  const byHand = interventionContextOf(dependencies);

  addRoute(
    {
      method: 'POST',
      path: `${DELIVERY}/retry`,
      id: 'retryDelivery',
      tag: 'deliveries',
      summary: 'Retries a delivery now',
      description:
        'Makes the next attempt of an open delivery now. Reopens a failed delivery for another round of attempts.',
      answers: { 202: json('The delivery.', deliveryViewSchema) },
      refuses: [400, 404, 409],
    },
    async (context) => {
      const key = await deliveryKey(dependencies, context.req.param());
      const result = await retryDelivery(byHand, key);
      if (result.kind === 'refused') throw await retryRefused(dependencies, key, result.why);
      audit(context.env.caller, { change: 'delivery_retried', ...idsOf(key), round: result.delivery.round });
      return context.json(deliveryView(result.delivery), 202);
    },
  );

  addRoute(
    {
      method: 'POST',
      path: `${DELIVERY}/send`,
      id: 'sendDelivery',
      tag: 'deliveries',
      summary: 'Sends a message to one subscription now, whether or not it matched',
      description:
        'Gives an ended delivery another round of attempts, also a delivered one. Makes a delivery where the message was ' +
        'filtered or is older than the subscription. Needs the body of the message.',
      answers: { 202: json('The delivery.', deliveryViewSchema) },
      refuses: [400, 404, 409],
    },
    async (context) => {
      const path = context.req.param();
      const { subscriptionId } = subscriptionKey(path);
      const message = messageKey(path);
      const result = await sendDelivery(byHand, message, subscriptionId);
      if (result.kind === 'refused')
        throw await sendRefused(dependencies, { queue: message.queue, subscriptionId }, result.why);
      const { key, round } = result.delivery;
      audit(context.env.caller, { change: 'delivery_sent', ...idsOf(key), round });
      return context.json(deliveryView(result.delivery), 202);
    },
  );

  addRoute(
    {
      method: 'POST',
      path: `${DELIVERY}/cancel`,
      id: 'cancelDelivery',
      tag: 'deliveries',
      summary: 'Cancels a delivery: no further attempt is made',
      answers: { 200: json('The delivery.', deliveryViewSchema) },
      refuses: [400, 404, 409],
    },
    async (context) => {
      const key = await deliveryKey(dependencies, context.req.param());
      const result = await cancelDelivery(byHand, key, 'manual');
      if (result.kind === 'refused') throw cancellationRefused(result.why);
      audit(context.env.caller, { change: 'delivery_cancelled', ...idsOf(key) });
      return context.json(deliveryView(result.delivery), 200);
    },
  );
}

function interventionContextOf(dependencies: ApiDependencies): SendContext {
  const { registry, settings } = dependencies;
  const find: SendContext['ports']['subscriptions']['find'] = async (queue, subscriptionId) => {
    const [found, subscription] = await Promise.all([
      registry.findQueue(queue),
      registry.findSubscription(queue, subscriptionId),
    ]);
    return { queue: found, subscription };
  };
  return { ports: { ...dependencies, subscriptions: { find } }, settings };
}

/** @throws RefusedRequest `invalid_request`; `not_found` for a missing message or a malformed subscription id */
async function deliveryKey(dependencies: ApiDependencies, path: DeliveryPath): Promise<DeliveryKey> {
  const { subscriptionId } = subscriptionKey(path);
  const key = await deliveryKeyFor(dependencies, messageKey(path), subscriptionId);
  if (key === undefined) throw noSuchMessage(dependencies.settings);
  return key;
}

function idsOf({ queue, messageId, subscriptionId }: DeliveryKey) {
  return { queue, messageId, subscriptionId };
}

async function sendRefused(
  dependencies: ApiDependencies,
  of: SubscriptionKey,
  why: SendRefusal,
): Promise<RefusedRequest> {
  return why === 'no_such_message'
    ? noSuchMessage(dependencies.settings)
    : retryRefused(dependencies, of, why);
}

async function retryRefused(
  { registry, clock }: ApiDependencies,
  { queue, subscriptionId }: SubscriptionKey,
  why: Exclude<SendRefusal, 'no_such_message'>,
): Promise<RefusedRequest> {
  if (why === 'no_such_delivery') return notFound('such delivery');
  if (why !== 'subscription_absent') return new RefusedRequest('conflict', RETRY_REFUSALS[why]);
  const absence = absenceOf(await registry.findSubscription(queue, subscriptionId), clock.now());
  return new RefusedRequest(
    'conflict',
    absence === undefined ? RETRY_REFUSALS.subscription_absent : ABSENCES[absence],
  );
}

/** Which absence of a subscription holds. */
const ABSENCES: Record<AbsenceReason, string> = {
  subscription_deleted: 'the subscription is deleted',
  subscription_expired: 'the subscription is expired',
  subscription_unconfirmed: 'the subscription is unconfirmed',
  disabled: 'the subscription is disabled; enable it first',
};

const RETRY_REFUSALS: Record<Exclude<SendRefusal, 'no_such_delivery' | 'no_such_message'>, string> = {
  in_flight: 'an attempt of this delivery is in flight',
  not_begun: 'the first attempt of this delivery has not begun; it starts without a retry',
  being_closed: 'this delivery has just ended and is being completed; try again in a few seconds',
  body_gone:
    'the body of this message is not kept: it was erased, or `_retain_messages` of the queue (else the setting ' +
    '`retainMessages`) is `failed`, which keeps only bodies of messages with a failed attempt',
  too_many_attempts: 'this delivery has reached the limit of recorded attempts; publish the message again',
  message_expired: 'the ttl of this message has expired',
  subscription_absent: 'the subscription got no requests a moment ago; try again',
  open: 'this delivery is still open',
  delivered: 'this delivery has already succeeded',
  recovered_already: 'this recovery has already replayed this delivery',
  contended: 'this delivery keeps changing; try again',
  unfinished:
    'first attempts of this message are still to come, perhaps also for this subscription; try again later, or redrive ' +
    'the delivery dead letters',
};

function cancellationRefused(why: CancelRefusal): RefusedRequest {
  switch (why) {
    case 'no_such_delivery':
      return notFound('such delivery');
    case 'over':
      return new RefusedRequest('conflict', 'this delivery has already ended');
    case 'not_begun':
      return new RefusedRequest(
        'conflict',
        'the first attempt has not begun, and the filter of the subscription may prevent it; cancel the delivery after it begins',
      );
    case 'contended':
      return new RefusedRequest('conflict', 'this delivery keeps changing; try again');
  }
}
