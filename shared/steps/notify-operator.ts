import type { OperatorEvent } from '../domain/operator-event.ts';
import type { Subscription } from '../domain/subscription/subscription.ts';
import type { Journal, OperatorEvents } from '../ports/journal.ts';

type NotifyPorts = { operatorEvents: OperatorEvents; journal: Journal };

/** Sends an event to the operator's bus, and logs it once it is there. @throws when it could not be sent */
export async function notifyOperator(
  { operatorEvents, journal }: NotifyPorts,
  event: OperatorEvent,
): Promise<void> {
  await operatorEvents.publish(event);
  journal.note({ fact: 'operator_told', event });
}

/**
 * Notifies the operator of a subscription that was disabled by hand, now or before: a request that is repeated because this
 * failed sends it again. One that is disabled for another reason had its event then.
 * @throws when it could not be sent
 */
export async function notifyDisabledByHand(
  ports: NotifyPorts,
  { queue, id, disabled }: Subscription,
): Promise<void> {
  if (disabled?.reason === 'manual')
    await notifyOperator(ports, { type: 'subscription.disabled', queue, subscriptionId: id, ...disabled });
}
