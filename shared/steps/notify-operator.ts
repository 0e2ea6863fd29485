import type { OperatorEvent } from '../domain/operator-event.ts';
import type { Subscription } from '../domain/subscription/subscription.ts';
import type { Journal, OperatorEvents } from '../ports/journal.ts';

type Telling = { operatorEvents: OperatorEvents; journal: Journal };

/** Tells the operator: on the bus, and in the log once it is there. @throws when it could not be sent */
export async function tell({ operatorEvents, journal }: Telling, event: OperatorEvent): Promise<void> {
  await operatorEvents.publish(event);
  journal.note({ fact: 'operator_told', event });
}

/**
 * Tells of a subscription that somebody disabled by hand, now or before: whoever asks once more, because this failed the
 * first time, makes up for it. One that is disabled for another reason was told of then.
 * @throws when it could not be sent
 */
export async function tellDisabledByHand(
  ports: Telling,
  { queue, id, disabled }: Subscription,
): Promise<void> {
  if (disabled?.reason === 'manual')
    await tell(ports, { type: 'subscription.disabled', queue, subscriptionId: id, ...disabled });
}
