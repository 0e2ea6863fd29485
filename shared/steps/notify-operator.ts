import type { OperatorEvent } from '../domain/delivery/operator-event.ts';
import type { Subscription } from '../domain/subscription/subscription.ts';
import type { Journal, OperatorEvents } from '../ports/journal.ts';

type NotifyPorts = { operatorEvents: OperatorEvents; journal: Journal };

/** Sends an event to the operator's event bus and logs it after success. @throws if it could not be sent */
export async function notifyOperator(
  { operatorEvents, journal }: NotifyPorts,
  event: OperatorEvent,
): Promise<void> {
  await operatorEvents.publish(event);
  journal.note({ fact: 'operator_event_sent', event });
}

/**
 * Notifies the operator of a manually disabled subscription, also if it was disabled earlier: a request repeated
 * after a failure sends the event again. Other disable reasons sent their event before.
 * @throws if it could not be sent
 */
export async function notifyManuallyDisabled(
  ports: NotifyPorts,
  { queue, id, disabled }: Subscription,
): Promise<void> {
  if (disabled?.reason === 'manual')
    await notifyOperator(ports, { type: 'subscription.disabled', queue, subscriptionId: id, ...disabled });
}
