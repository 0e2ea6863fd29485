import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { absenceOf, type Queue, type Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { AbsenceReason } from '../../shared/domain/vocabulary.ts';
import type { Freshness } from '../../shared/ports/subscriptions.ts';
import { openedCredentials } from '../../shared/steps/authorise.ts';
import type { DeliverContext } from './context.ts';
import { paceFor } from './rate-limit.ts';

/** The subscriber of a delivery. `absence`: why it cannot be called. */
export type Recipient = {
  queue: Queue | undefined;
  subscription: Subscription | undefined;
  absence: AbsenceReason | undefined;
};

/**
 * The subscriber to call, or why it cannot be called. An absent subscription is read again without the cache: it may
 * have been enabled or confirmed. So is a paced one, because all its deliveries must use the same line.
 */
export async function recipientOf(
  context: DeliverContext,
  { kind, key }: DeliveryJob | WakeUp,
): Promise<Recipient> {
  const { ports } = context;
  const { queue, subscriptionId, messageId } = key;
  const read = async (freshness: Freshness) => {
    const found = await ports.subscriptions.find(queue, subscriptionId, freshness);
    return { ...found, absence: absenceOf(found.subscription, ports.clock.now(), messageId) };
  };
  if (kind === 'wake_up') return read('fresh');
  const cached = await read('cached');
  const { subscription } = cached;
  const isPaced = subscription !== undefined && paceFor(context, { ...cached, subscription }) !== undefined;
  return cached.absence === undefined && !isPaced ? cached : read('fresh');
}

/**
 * Like `recipientOf`, and decrypts the secrets in advance, so that a KMS fault happens before the claim. The opener
 * caches them for the attempt.
 */
export async function signableRecipientOf(context: DeliverContext, work: DeliveryJob): Promise<Recipient> {
  const { secretOpener, clock } = context.ports;
  const recipient = await recipientOf(context, work);
  const { subscription, absence } = recipient;
  if (subscription !== undefined && absence === undefined && !isFetched(recipient))
    await openedCredentials(secretOpener, subscription, clock.now());
  return recipient;
}

/** Whether the receiver fetches its deliveries. */
export function isFetched({ subscription }: Pick<Recipient, 'subscription'>): boolean {
  switch (subscription?.destination.kind) {
    case undefined:
    case 'webhook':
      return false;
    case 'pull':
      return true;
  }
}
