import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import type { PendingStep } from '../../shared/domain/delivery/vocabulary.ts';
import { endOfLastAttempt, settle } from '../../shared/domain/delivery/transitions.ts';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import { notifyOperator } from '../../shared/steps/notify-operator.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import type { DeliverContext } from './context.ts';

/**
 * Some pending steps of a finished delivery failed. Transient: the next invocation that reads its record repeats
 * them.
 */
export class OwedStepsFailedError extends Error {
  override readonly name = 'OwedStepsFailedError';

  constructor({ key }: Delivery, failures: readonly { owed: PendingStep; cause: unknown }[]) {
    const names = failures.map(({ owed }) => owed).join(', ');
    const causes = failures.map(({ cause }) => cause);
    super(`Delivery ${key.queue}/${key.messageId}/${key.subscriptionId} has failed pending steps: ${names}`, {
      cause: causes.length === 1 ? causes[0] : new AggregateError(causes),
    });
  }
}

/**
 * Does the pending steps (`owed`) of a finished delivery, and removes the completed ones from its record by one
 * write. A failed step does not stop the others. A crash in between repeats steps, so each may happen twice.
 * @throws OwedStepsFailedError
 */
export async function completePendingSteps(
  context: DeliverContext,
  delivery: Delivery,
  body: BodyLocation | undefined,
): Promise<void> {
  const done: PendingStep[] = [];
  const failures: { owed: PendingStep; cause: unknown }[] = [];
  for (const owed of delivery.owed) {
    try {
      await completeStep(context, owed, delivery, body);
      done.push(owed);
    } catch (cause) {
      failures.push({ owed, cause });
    }
  }
  // A refusal needs no handling: a concurrent invocation completed steps, or the delivery is open again.
  if (done.length > 0)
    await context.ports.deliveries.write(settle(delivery, done, writeTime(context, delivery)));
  if (failures.length > 0) throw new OwedStepsFailedError(delivery, failures);
}

async function completeStep(
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
      await disableAsAsked(context, delivery);
      return;
    case 'exhausted_event':
      await notifyOperator(context.ports, {
        type: 'delivery.exhausted',
        key: delivery.key,
        attempts: delivery.attempts.length,
        at: endOfLastAttempt(delivery),
      });
      return;
  }
}

/**
 * Disables the subscription whose answer asked for it. Only the delivery whose time is stored notifies the operator. A
 * subscription changed since the attempt read it (recreated or enabled again) did not give this answer and stays
 * enabled.
 */
async function disableAsAsked({ ports }: DeliverContext, delivery: Delivery): Promise<void> {
  const { queue, subscriptionId } = delivery.key;
  // A delivered one has no reason, and a 2xx disables only on request.
  const reason = delivery.reason === 'gone' ? 'gone' : 'disable_requested';
  const disabled = { reason, at: endOfLastAttempt(delivery) } as const;
  const changedAtRead = delivery.attempts.at(-1)?.subscriptionChangedAt;
  const inForce = await ports.subscriptions.disable(queue, subscriptionId, disabled, changedAtRead);
  if (inForce?.reason === disabled.reason && inForce.at === disabled.at)
    await notifyOperator(ports, { type: 'subscription.disabled', queue, subscriptionId, ...disabled });
}
