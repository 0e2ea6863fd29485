import type { DeliveryDetail } from '../domain/delivery-detail.ts';
import type { Delivery, DeliveryKey } from '../domain/delivery.ts';
import { bucketOf, chunkOf } from '../domain/fan-out.ts';
import type { MessageKey } from '../domain/message.ts';
import { plannedAttempts } from '../domain/planned-attempts.ts';
import { policyInForce } from '../domain/policy-in-force.ts';
import type { RetryPolicy } from '../domain/retry-policy.ts';
import type { Deliveries } from '../ports/deliveries.ts';
import type { DeliveryListings, DeliverySelection } from '../ports/delivery-listings.ts';
import type { MessageRecords } from '../ports/message-records.ts';
import type { Page, PageRequest } from '../ports/page.ts';
import type { SubscriptionRegistry } from '../ports/subscription-registry.ts';

type Listing = { deliveryListings: Pick<DeliveryListings, 'newest' | 'records' | 'ofMessage'> };
type Records = { records: Pick<MessageRecords, 'find'> };

/**
 * Deliveries that are not delivered, the newest first, each as its record says now: one that has left the selection since it
 * was listed is left out.
 * @throws InvalidMarkerError
 */
export const listUndelivered = async (
  { deliveryListings }: Listing,
  selection: DeliverySelection,
  request: PageRequest,
): Promise<Page<Delivery>> => {
  const { items, ...rest } = await deliveryListings.newest(selection, request);
  const { deliveries, unreadable } = await deliveryListings.records(items.map(({ key }) => key));
  for (const { error } of unreadable) throw error;
  const byKey = new Map(deliveries.map((delivery) => [nameOf(delivery.key), delivery]));
  const listed = items.flatMap(({ key }) => byKey.get(nameOf(key)) ?? []);
  return { ...rest, items: listed.filter(({ status }) => isSelected(selection, status)) };
};

const nameOf = ({ messageId, subscriptionId }: DeliveryKey): string => `${messageId}#${subscriptionId}`;

const isSelected = (selection: DeliverySelection, status: Delivery['status']): boolean =>
  selection.status === undefined ? status !== 'delivered' : status === selection.status;

/** Undefined: there is no such message, or dispatch has not come to it yet. @throws InvalidMarkerError */
export const listOfMessage = async (
  { records, deliveryListings }: Listing & Records,
  message: MessageKey,
  request: PageRequest,
): Promise<Page<Delivery> | undefined> => {
  const record = await records.find(message);
  return record && deliveryListings.ofMessage(message, record.buckets, request);
};

/** Where the delivery of a message to a subscription is on record, if it is. Undefined: there is no such message. */
export const deliveryKeyFor = async (
  { records }: Records,
  message: MessageKey,
  subscriptionId: string,
): Promise<DeliveryKey | undefined> => {
  const record = await records.find(message);
  if (record === undefined) return undefined;
  const { buckets, chunks } = record;
  return {
    ...message,
    subscriptionId,
    bucket: bucketOf(subscriptionId, buckets),
    ...(chunks === undefined ? {} : { chunk: chunkOf(subscriptionId, chunks) }),
  };
};

type DetailContext = Records & {
  deliveries: Pick<Deliveries, 'find'>;
  registry: Pick<SubscriptionRegistry, 'findQueue' | 'findSubscription'>;
  defaultRetryPolicy: RetryPolicy;
};

/** Undefined: there is no such delivery. */
export const deliveryDetail = async (
  context: DetailContext,
  message: MessageKey,
  subscriptionId: string,
): Promise<DeliveryDetail | undefined> => {
  const key = await deliveryKeyFor(context, message, subscriptionId);
  const delivery = key && (await context.deliveries.find(key));
  if (delivery === undefined) return undefined;
  const { policy, policySource } = await policyOf(context, delivery);
  return { delivery, policy, policySource, planned: plannedAttempts(delivery, policy) };
};

const policyOf = async (
  { registry, defaultRetryPolicy }: DetailContext,
  { key, policy }: Delivery,
): Promise<Pick<DeliveryDetail, 'policy' | 'policySource'>> => {
  if (policy !== undefined) return { policy, policySource: 'delivery' };
  const [queue, subscription] = await Promise.all([
    registry.findQueue(key.queue),
    registry.findSubscription(key.queue, key.subscriptionId),
  ]);
  const inForce = policyInForce({
    subscription: subscription?.options._retry_policy,
    queue: queue?.retryPolicy,
    defaults: defaultRetryPolicy,
  });
  return { policy: inForce.policy, policySource: inForce.source };
};
