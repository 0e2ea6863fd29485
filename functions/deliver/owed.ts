import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { PendingStep } from '../../shared/domain/vocabulary.ts';
import { endOf, settle } from '../../shared/domain/delivery/transitions.ts';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import { notifyOperator } from '../../shared/steps/notify-operator.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import type { DeliverContext } from './context.ts';

/** Some or all of what a finished delivery owes could not be done. Transient: the next invocation that reads its record does the rest. */
export class OwedStepsFailedError extends Error {
  override readonly name = 'OwedStepsFailedError';

  constructor({ key }: Delivery, failures: readonly { owed: PendingStep; cause: unknown }[]) {
    const names = failures.map(({ owed }) => owed).join(', ');
    const causes = failures.map(({ cause }) => cause);
    super(`Delivery ${key.queue}/${key.messageId}/${key.subscriptionId} still owes: ${names}`, {
      cause: causes.length === 1 ? causes[0] : new AggregateError(causes),
    });
  }
}

/**
 * Does what a finished delivery still owes, and takes all that was done off the record by one write. One failure holds up
 * nothing else. A crash in between does it once more: nothing owed is forgotten, and everything may come twice.
 * @throws OwedStepsFailedError
 */
export async function settleOwed(
  context: DeliverContext,
  delivery: Delivery,
  body: BodyLocation | undefined,
): Promise<void> {
  const done: PendingStep[] = [];
  const failures: { owed: PendingStep; cause: unknown }[] = [];
  for (const owed of delivery.owed) {
    try {
      await settleOne(context, owed, delivery, body);
      done.push(owed);
    } catch (cause) {
      failures.push({ owed, cause });
    }
  }
  // Refused: another invocation settles it at the same time, or it is open again. What is left is done there.
  if (done.length > 0) await context.ports.deliveries.write(settle(delivery, done, writeTime(context)));
  if (failures.length > 0) throw new OwedStepsFailedError(delivery, failures);
}

async function settleOne(
  context: DeliverContext,
  owed: PendingStep,
  delivery: Delivery,
  body: BodyLocation | undefined,
): Promise<void> {
  switch (owed) {
    case 'undeliverable':
      await context.ports.undeliverables.send(body === undefined ? { delivery } : { delivery, body });
      return;
    case 'disable_subscription':
      await disableGone(context, delivery);
      return;
    case 'exhausted_event':
      await notifyOperator(context.ports, {
        type: 'delivery.exhausted',
        key: delivery.key,
        attempts: delivery.attempts.length,
        at: endOf(delivery),
      });
      return;
  }
}

/**
 * Of many deliveries that were answered 410, the one that disabled notifies the operator. It knows itself by the time, so a
 * repeat of it notifies once more. Only the subscription as the attempt read it is disabled: a subscriber that took its
 * place, or that was enabled again since, did not give this answer.
 */
async function disableGone({ ports }: DeliverContext, delivery: Delivery): Promise<void> {
  const { queue, subscriptionId } = delivery.key;
  const disabled = { reason: 'gone', at: endOf(delivery) } as const;
  const wentBy = delivery.attempts.at(-1)?.subscriptionChangedAt;
  const inForce = await ports.subscriptions.disable(queue, subscriptionId, disabled, wentBy);
  if (inForce?.reason === disabled.reason && inForce.at === disabled.at)
    await notifyOperator(ports, { type: 'subscription.disabled', queue, subscriptionId, ...disabled });
}
