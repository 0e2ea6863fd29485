import type { DeliveryJob, WakeUp } from '../../shared/domain/delivery/job.ts';
import { rateLimitOf } from '../../shared/domain/subscription/rate-limit.ts';
import { absenceOf, type Queue, type Subscription } from '../../shared/domain/subscription/subscription.ts';
import type { AbsenceReason } from '../../shared/domain/vocabulary.ts';
import type { Freshness } from '../../shared/ports/subscriptions.ts';
import { openedSecrets } from './attempt.ts';
import type { DeliverContext } from './context.ts';

/** `absence`: why nobody can be called. */
export type Recipient = {
  queue: Queue | undefined;
  subscription: Subscription | undefined;
  absence: AbsenceReason | undefined;
};

/**
 * Who is to be called, or why nobody can be. What a cache says against a subscription is asked again: it may have been
 * enabled or confirmed since. So is one that limits its rate: two readers of different limits would not stand in one line.
 */
export async function recipientOf(
  { ports }: DeliverContext,
  { kind, key }: DeliveryJob | WakeUp,
): Promise<Recipient> {
  const { queue, subscriptionId, messageId } = key;
  const read = async (freshness: Freshness) => {
    const found = await ports.subscriptions.find(queue, subscriptionId, freshness);
    return { ...found, absence: absenceOf(found.subscription, ports.clock.now(), messageId) };
  };
  if (kind === 'wake_up') return read('fresh');
  const cached = await read('cached');
  const isLimited = cached.subscription !== undefined && rateLimitOf(cached.subscription) !== undefined;
  return cached.absence === undefined && !isLimited ? cached : read('fresh');
}

/** The same, having opened its secrets, which the opener keeps for the attempt: where KMS fails, it fails here. */
export async function signableRecipientOf(context: DeliverContext, work: DeliveryJob): Promise<Recipient> {
  const { secretOpener, clock } = context.ports;
  const recipient = await recipientOf(context, work);
  const { subscription, absence } = recipient;
  if (subscription !== undefined && absence === undefined)
    await openedSecrets(secretOpener, subscription, clock.now());
  return recipient;
}
