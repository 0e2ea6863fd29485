import { eraseBody } from '../../functions/api/messages/messages.ts';
import { retryDelivery } from '../../shared/steps/retry-delivery.ts';
import { cancelDelivery } from '../../shared/steps/cancel-delivery.ts';
import { DAY, QUEUE, START, type Intervention } from './scenario.ts';
import type { ApiContext, SimulatedApi } from './simulated-api.ts';
import { deliveryKeyIn } from '../../shared/domain/delivery/fan-out.ts';
import { sendDelivery } from '../../functions/api/deliveries/manual-routes.ts';
import { startRecovery } from '../../functions/api/recoveries/routes.ts';

/** Makes an operator's request, once; an erasure is repeated until it is answered. */
export function intervene(api: SimulatedApi, intervention: Intervention): void {
  switch (intervention.kind) {
    case 'retry':
    case 'send':
    case 'cancel': {
      const { kind, messageId, subscriptionId } = intervention;
      api.requestOnce(`${kind} ${messageId}/${subscriptionId}`, (context) => act(context, intervention));
      return;
    }
    case 'recover':
      api.requestOnce('recover', (context) => recover(context, intervention));
      return;
    case 'erase': {
      const { messageId } = intervention;
      api.retryUntilAnswered(`erase ${messageId}`, (context) =>
        eraseBody(context, { queue: QUEUE, messageId }),
      );
    }
  }
}

async function act(
  context: ApiContext,
  { kind, messageId, subscriptionId }: Extract<Intervention, { kind: 'retry' | 'send' | 'cancel' }>,
): Promise<void> {
  const message = { queue: QUEUE, messageId };
  if (kind === 'send') {
    await sendDelivery(context, message, subscriptionId);
    return;
  }
  const record = await context.messageRecords.find(message);
  if (record === undefined) return;
  const key = deliveryKeyIn(record, subscriptionId);
  await (kind === 'retry' ? retryDelivery(context, key) : cancelDelivery(context, key, 'manual'));
}

function recover(
  context: ApiContext,
  { subscriptionId }: Extract<Intervention, { kind: 'recover' }>,
): Promise<unknown> {
  const window = { since: START - DAY, until: context.clock.now() };
  return startRecovery(context, {
    queue: QUEUE,
    ...window,
    ...(subscriptionId === undefined ? {} : { subscriptionId }),
  });
}
