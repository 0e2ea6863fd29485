import type { Delivery, PendingStep } from '../../shared/domain/delivery/delivery.ts';
import { endOfLastAttempt, settle } from '../../shared/domain/delivery/transitions.ts';
import type { BodyLocation } from '../../shared/domain/message/body.ts';
import { notifyOperator } from '../../shared/steps/attempt-events.ts';
import { writeTime } from '../../shared/steps/retention.ts';
import type { DeliverContext } from './context.ts';

/**
 * Some pending steps of a finished delivery failed. Transient: the next invocation that reads its record repeats
 * them.
 */
export class PendingStepsFailedError extends Error {
  override readonly name = 'PendingStepsFailedError';

  constructor({ key }: Delivery, failures: readonly { step: PendingStep; cause: unknown }[]) {
    const names = failures.map(({ step }) => step.kind).join(', ');
    const causes = failures.map(({ cause }) => cause);
    super(`Delivery ${key.queue}/${key.messageId}/${key.subscriptionId} has failed pending steps: ${names}`, {
      cause: causes.length === 1 ? causes[0] : new AggregateError(causes),
    });
  }
}

/**
 * Does the pending steps of a finished delivery, and removes the completed ones from its record by one
 * write. A failed step does not stop the others. A crash in between repeats steps, so each may happen twice.
 * @throws PendingStepsFailedError
 */
export async function completePendingSteps(
  context: DeliverContext,
  delivery: Delivery,
  body: BodyLocation | undefined,
): Promise<void> {
  const done: PendingStep[] = [];
  const failures: { step: PendingStep; cause: unknown }[] = [];
  for (const step of delivery.pendingSteps) {
    try {
      await completeStep(context, step, delivery, body);
      done.push(step);
    } catch (cause) {
      failures.push({ step, cause });
    }
  }
  // A refusal needs no handling: a concurrent invocation completed steps, or the delivery is open again.
  if (done.length > 0)
    await context.ports.deliveries.write(settle(delivery, done, writeTime(context, delivery)));
  if (failures.length > 0) throw new PendingStepsFailedError(delivery, failures);
}

async function completeStep(
  context: DeliverContext,
  step: PendingStep,
  delivery: Delivery,
  body: BodyLocation | undefined,
): Promise<void> {
  switch (step.kind) {
    case 'undeliverable':
      await context.ports.undeliverables.send(body === undefined ? { delivery } : { delivery, body });
      return;
    case 'disable_subscription':
      await disableAsAsked(context, delivery, step);
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
async function disableAsAsked(
  { ports }: DeliverContext,
  delivery: Delivery,
  { reason, version }: Extract<PendingStep, { kind: 'disable_subscription' }>,
): Promise<void> {
  const { queue, subscriptionId } = delivery.key;
  const disabled = { reason, at: endOfLastAttempt(delivery) } as const;
  const inForce = await ports.subscriptions.disable(queue, subscriptionId, disabled, version);
  if (inForce?.reason === disabled.reason && inForce.at === disabled.at)
    await notifyOperator(ports, { type: 'subscription.disabled', queue, subscriptionId, ...disabled });
}
