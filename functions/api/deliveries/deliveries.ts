import { type DeliveryDetail, plannedAttempts } from '../../../shared/domain/delivery/planned-attempts.ts';
import type { Delivery, DeliveryKey } from '../../../shared/domain/delivery/delivery.ts';
import { deliveryKeyIn } from '../../../shared/domain/delivery/fan-out.ts';
import type { MessageKey } from '../../../shared/domain/message/message.ts';
import { policyFor, type RetryDefaults } from '../../../shared/domain/subscription/delivery-policy.ts';
import type { Deliveries, DeliveryListings, DeliverySelection } from '../../../shared/ports/deliveries.ts';
import type { MessageRecords } from '../../../shared/ports/messages.ts';
import type { Page, PageRequest } from '../../../shared/ports/page.ts';
import type { Registry } from '../../../shared/ports/subscriptions.ts';

type Listing = { deliveryListings: Pick<DeliveryListings, 'newest' | 'records' | 'ofMessage'> };
type MessageRecordsContext = { messageRecords: Pick<MessageRecords, 'find'> };

/**
 * Deliveries that are not delivered, newest first, as their records show them. The listing is eventually consistent, so
 * deliveries whose records no longer match are left out.
 * @throws InvalidMarkerError
 */
export async function listUndelivered(
  { deliveryListings }: Listing,
  selection: DeliverySelection,
  request: PageRequest,
): Promise<Page<Delivery>> {
  const { items, ...rest } = await deliveryListings.newest(selection, request);
  const { deliveries, unreadable } = await deliveryListings.records(items.map(({ key }) => key));
  for (const { error } of unreadable) throw error;
  const byKey = new Map(deliveries.map((delivery) => [nameOf(delivery.key), delivery]));
  const listed = items.flatMap(({ key }) => byKey.get(nameOf(key)) ?? []);
  return { ...rest, items: listed.filter(({ status }) => isSelected(selection, status)) };
}

function nameOf({ messageId, subscriptionId }: DeliveryKey): string {
  return `${messageId}#${subscriptionId}`;
}

function isSelected(selection: DeliverySelection, status: Delivery['status']): boolean {
  return selection.status === undefined ? status !== 'delivered' : status === selection.status;
}

/**
 * A page of a message's deliveries. Undefined: there is no such message, or dispatch has not received it yet.
 * @throws InvalidMarkerError
 */
export async function listOfMessage(
  { messageRecords, deliveryListings }: Listing & MessageRecordsContext,
  message: MessageKey,
  request: PageRequest,
): Promise<Page<Delivery> | undefined> {
  const record = await messageRecords.find(message);
  return record && deliveryListings.ofMessage(record, request);
}

/** The key that a delivery has or would have. Undefined: there is no such message. */
export async function deliveryKeyFor(
  { messageRecords }: MessageRecordsContext,
  message: MessageKey,
  subscriptionId: string,
): Promise<DeliveryKey | undefined> {
  const record = await messageRecords.find(message);
  return record && deliveryKeyIn(record, subscriptionId);
}

type PolicyContext = {
  registry: Pick<Registry, 'findQueue' | 'findSubscription'>;
  settings: RetryDefaults;
};

type DetailContext = MessageRecordsContext & PolicyContext & { deliveries: Pick<Deliveries, 'find'> };

/** A delivery with its policy and its planned attempts. Undefined: there is no such delivery. */
export async function deliveryDetail(
  context: DetailContext,
  message: MessageKey,
  subscriptionId: string,
): Promise<DeliveryDetail | undefined> {
  const key = await deliveryKeyFor(context, message, subscriptionId);
  const delivery = key && (await context.deliveries.find(key));
  if (delivery === undefined) return undefined;
  const { policy, policySource } = await policyOf(context, delivery);
  return { delivery, policy, policySource, planned: plannedAttempts(delivery, policy) };
}

/** The policy by which the next attempt is planned. */
export async function policyOf(
  { registry, settings }: PolicyContext,
  { key, policy: kept }: Delivery,
): Promise<Pick<DeliveryDetail, 'policy' | 'policySource'>> {
  if (kept !== undefined) return { policy: kept, policySource: 'delivery' };
  const [queue, subscription] = await Promise.all([
    registry.findQueue(key.queue),
    registry.findSubscription(key.queue, key.subscriptionId),
  ]);
  const { policy, source } = policyFor({ queue, subscription }, settings);
  return { policy, policySource: source };
}
