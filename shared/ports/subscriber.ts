import type { Reply } from '../domain/delivery/outcome.ts';
import type { WebhookRequest } from '../domain/delivery/webhook-request.ts';

/** The far end. Never throws for anything that the far end does. */
export interface Subscriber {
  post(request: WebhookRequest, timeoutMs: number): Promise<Reply>;
}
