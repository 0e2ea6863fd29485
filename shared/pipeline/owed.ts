import type { Delivery, Owed } from '../domain/delivery.ts';
import { settle } from '../domain/delivery-result.ts';
import type { MessageBody } from '../domain/message-body.ts';
import { momentOf, type DeliverContext } from './deliver-context.ts';

/**
 * Does what a finished delivery still owes, and takes each thing off the record once it is done. A crash in between
 * does it once more: nothing owed is forgotten, and an undeliverable message may come twice.
 */
export const payOwed = async (
  context: DeliverContext,
  ended: Delivery,
  body: MessageBody | undefined,
): Promise<void> => {
  const { ports } = context;
  let delivery = ended;
  for (const owed of ended.owed) {
    await pay(context, owed, delivery, body);
    const at = momentOf(context);
    const result = await ports.deliveries.write(settle(delivery, owed, at));
    // Somebody else settles this delivery at the same time, or it is under way again: what is left is theirs.
    if (result.kind === 'refused') return;
    delivery = result.delivery;
  }
};

const pay = async (
  { ports }: DeliverContext,
  owed: Owed,
  delivery: Delivery,
  body: MessageBody | undefined,
): Promise<void> => {
  switch (owed) {
    case 'undeliverable':
      await ports.undeliverables.send(body === undefined ? { delivery } : { delivery, body });
      return;
    case 'disable_subscription': {
      const { queue, subscriptionId } = delivery.key;
      await ports.subscriptions.disable(queue, subscriptionId, { reason: 'gone', at: ports.clock.now() });
      return;
    }
  }
};
