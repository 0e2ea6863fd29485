import type { Owed } from '../../shared/domain/vocabulary.ts';
import type { Delivery } from '../../shared/domain/delivery/delivery.ts';
import { endOf, settle } from '../../shared/domain/delivery/result.ts';
import type { MessageBody } from '../../shared/domain/message/body.ts';
import type { DeliverContext } from './context.ts';
import { momentOf } from '../../shared/steps/moment.ts';
import { tell } from '../../shared/steps/notify-operator.ts';

/** What a finished delivery owes could not be done, all or part of it. Transient: whoever looks at the record next does the rest. */
export class OwedUnpaidError extends Error {
  override readonly name = 'OwedUnpaidError';

  constructor({ key }: Delivery, failures: readonly { owed: Owed; cause: unknown }[]) {
    const names = failures.map(({ owed }) => owed).join(', ');
    const causes = failures.map(({ cause }) => cause);
    super(`Delivery ${key.queue}/${key.messageId}/${key.subscriptionId} still owes: ${names}`, {
      cause: causes.length === 1 ? causes[0] : new AggregateError(causes),
    });
  }
}

/**
 * Does what a finished delivery still owes, and takes all that was done off the record by one write: what fails holds up
 * nothing else. A crash in between does it once more, so nothing owed is forgotten, and everything may come twice.
 * @throws OwedUnpaidError
 */
export async function payOwed(
  context: DeliverContext,
  ended: Delivery,
  body: MessageBody | undefined,
): Promise<void> {
  const paid: Owed[] = [];
  const failures: { owed: Owed; cause: unknown }[] = [];
  for (const owed of ended.owed) {
    try {
      await pay(context, owed, ended, body);
      paid.push(owed);
    } catch (cause) {
      failures.push({ owed, cause });
    }
  }
  // Refused: somebody else settles this delivery at the same time, or it is under way again. What is left is theirs.
  if (paid.length > 0) await context.ports.deliveries.write(settle(ended, paid, momentOf(context)));
  if (failures.length > 0) throw new OwedUnpaidError(ended, failures);
}

async function pay(
  context: DeliverContext,
  owed: Owed,
  delivery: Delivery,
  body: MessageBody | undefined,
): Promise<void> {
  switch (owed) {
    case 'undeliverable':
      await context.ports.undeliverables.send(body === undefined ? { delivery } : { delivery, body });
      return;
    case 'disable_subscription':
      await disableGone(context, delivery);
      return;
    case 'exhausted_event':
      await tell(context.ports, {
        type: 'delivery.exhausted',
        key: delivery.key,
        attempts: delivery.attempts.length,
        at: endOf(delivery),
      });
      return;
  }
}

/**
 * Of many deliveries that were answered 410, the one that disabled tells of it. It knows itself by the time, so that a
 * repeat of it tells once more. Only the subscription as the attempt saw it is disabled: the answer is not that of another
 * subscriber, and whoever enabled it since knows better.
 */
async function disableGone({ ports }: DeliverContext, delivery: Delivery): Promise<void> {
  const { queue, subscriptionId } = delivery.key;
  const disabled = { reason: 'gone', at: endOf(delivery) } as const;
  const wentBy = delivery.attempts.at(-1)?.subscriptionChangedAt;
  const inForce = await ports.subscriptions.disable(queue, subscriptionId, disabled, wentBy);
  if (inForce?.reason === disabled.reason && inForce.at === disabled.at)
    await tell(ports, { type: 'subscription.disabled', queue, subscriptionId, ...disabled });
}
