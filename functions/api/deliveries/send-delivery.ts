import { withRetriedWrites } from '../../../shared/domain/contention.ts';
import { isOpen, type Delivery, type DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import { deliveryKeyIn, partWith } from '../../../shared/domain/delivery/fan-out.ts';
import { deliveryByHand } from '../../../shared/domain/delivery/interventions.ts';
import { isOfLife } from '../../../shared/domain/delivery/life.ts';
import type { MessageKey } from '../../../shared/domain/message/message.ts';
import { retentionOf } from '../../../shared/domain/retention.ts';
import { isConfirmationId } from '../../../shared/domain/subscription/confirmation.ts';
import { absenceOf, type Subscription } from '../../../shared/domain/subscription/subscription.ts';
import type { SendRefusal } from '../../../shared/domain/delivery/vocabulary.ts';
import type { NamedDeliveries } from '../../../shared/ports/deliveries.ts';
import type { MessageRecord } from '../../../shared/ports/messages.ts';
import { hasUnrecordedDeliveries } from '../../../shared/steps/cancel-delivery.ts';
import { keepForNextRound } from '../../../shared/steps/keep-message.ts';
import { writeTime } from '../../../shared/steps/retention.ts';
import { AT_ONCE, type InterventionContext, openRound, wake } from '../../../shared/steps/retry-delivery.ts';

export type SendContext = {
  ports: InterventionContext['ports'] & { deliveries: Pick<NamedDeliveries, 'find' | 'write' | 'add'> };
  settings: InterventionContext['settings'];
};

export type SendResult =
  { kind: 'retried'; delivery: Delivery } | { kind: 'refused'; why: SendRefusal; delivery?: Delivery };

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
  if (message.expiresAt !== undefined && message.expiresAt <= at.now) return refused('message_expired');
  const added = await ports.deliveries.add(deliveryByHand(of, at));
  return added.kind === 'refused' ? 'again' : wake(context, added.delivery, AT_ONCE);
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
  if (found !== undefined && !isOfLife(record, found.createdAt)) return 'no_such_message';
  if (subscription === undefined || absenceOf(subscription, clock.now()) !== undefined)
    return 'subscription_absent';
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
  if (record.until !== undefined) return true;
  const isNewer = createdAt > partWith(record, id).listedAt;
  const isOld = context.ports.clock.now() >= record.acceptedAt + retentionOf(record, context.settings);
  return !isNewer && !isOld && (await hasUnrecordedDeliveries(context, record));
}

function refused(why: SendRefusal): SendResult {
  return { kind: 'refused', why };
}
