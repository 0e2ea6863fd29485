import { webhookRequest, type WebhookRequest } from '../../shared/domain/delivery/webhook-request.ts';
import type { Message } from '../../shared/domain/message/message.ts';
import { render } from '../../shared/domain/message/payload.ts';
import type { Subscription } from '../../shared/domain/subscription/subscription.ts';

/** The request of a message to a subscription, rendered as deliver renders it. */
export const requestFor = async (
  message: Message,
  subscription: Subscription,
  attempt: Parameters<typeof webhookRequest>[3],
): Promise<WebhookRequest> => {
  const payload = await render(message, subscription);
  if (payload.kind === 'unrendered') throw new Error(payload.detail);
  return webhookRequest(message, payload, subscription, attempt);
};
