import type { MessageKey } from '../../shared/domain/message/message.ts';
import { asPull, type PullDestination } from '../../shared/domain/subscription/destination.ts';
import {
  isPresent,
  type Queue,
  type Subscription,
  type SubscriptionKey,
} from '../../shared/domain/subscription/subscription.ts';
import type { MessageRecord } from '../../shared/ports/messages.ts';
import type { Registry, Subscriptions } from '../../shared/ports/subscriptions.ts';
import type { ApiDependencies, ApiPorts } from './dependencies.ts';
import { noSuchMessage, notFound, RefusedRequest } from './errors.ts';
import { flag } from './fields.ts';

/** Query field of listings: whether to read a deleted queue, whose records stay until they expire. */
export const deletedField = {
  deleted: flag.describe('Whether to read the records of a deleted queue, until they expire.'),
};

/** The same for reports on one subscription. */
export const deletedSubscriptionField = {
  deleted: flag.describe(
    'Whether to read the records of a deleted queue or subscription, until they expire.',
  ),
};

/**
 * The queue of a path. `deleted`: accepts the name of a deleted queue too; otherwise an unknown name is an error, not an
 * empty list.
 * @throws RefusedRequest `not_found`
 */
export async function existingQueue(
  { registry }: { registry: Pick<Registry, 'findQueue'> },
  name: string,
  { deleted } = { deleted: false },
): Promise<string> {
  return deleted ? name : (await presentQueue({ registry }, name)).name;
}

/** @throws RefusedRequest `not_found` */
export async function presentQueue(
  { registry }: { registry: Pick<Registry, 'findQueue'> },
  name: string,
): Promise<Queue> {
  const queue = await registry.findQueue(name);
  if (queue === undefined) throw notFound('such queue');
  return queue;
}

/** @throws RefusedRequest `not_found` */
export async function existingMessage(
  { messageRecords, settings }: Pick<ApiDependencies, 'messageRecords' | 'settings'>,
  message: MessageKey,
): Promise<MessageRecord> {
  const record = await messageRecords.find(message);
  if (record === undefined) throw noSuchMessage(settings);
  return record;
}

/** A subscription whose deliveries are read. `record`: absent if it is deleted. */
export type NamedSubscription = { id: string; record: Subscription | undefined };

/**
 * The subscription whose deliveries are read. `deleted`: accepts the id of a deleted subscription too.
 * @throws RefusedRequest `not_found`
 */
export async function existingSubscription(
  { registry }: { registry: Pick<Registry, 'findSubscription'> },
  { queue, subscriptionId: id }: SubscriptionKey,
  { deleted }: { deleted: boolean },
): Promise<NamedSubscription> {
  const record = await registry.findSubscription(queue, id);
  if (record === undefined && !deleted) throw notFound('such subscription');
  return { id, record };
}

/** @throws RefusedRequest `not_found`, also for a deleted or expired subscription */
export async function presentSubscription(
  { registry, clock }: Pick<ApiPorts, 'registry' | 'clock'>,
  { queue, subscriptionId }: SubscriptionKey,
): Promise<Subscription> {
  const found = await registry.findSubscription(queue, subscriptionId);
  if (!isPresent(found, clock.now())) throw notFound('such subscription');
  return found;
}

/** A queue and one of its subscriptions. Either is undefined if it does not exist. */
export async function findWithQueue(
  { registry }: { registry: Pick<Registry, 'findQueue' | 'findSubscription'> },
  { queue: name, subscriptionId }: SubscriptionKey,
): ReturnType<Subscriptions['find']> {
  const [queue, subscription] = await Promise.all([
    registry.findQueue(name),
    registry.findSubscription(name, subscriptionId),
  ]);
  return { queue, subscription };
}

/** @throws RefusedRequest `conflict` if its destination is called: its receiver does not fetch its deliveries */
export function requirePull(found: Subscription): Subscription & { destination: PullDestination } {
  const destination = asPull(found.destination);
  if (destination !== undefined) return { ...found, destination };
  throw new RefusedRequest('conflict', 'the subscription does not receive by pull');
}
