import type { Reply } from '../domain/delivery/outcome.ts';
import type { WebhookRequest } from '../domain/delivery/webhook-request.ts';

/** The sender itself lacks something: descriptors, memory, a name server, a place for a look-up. The subscriber had no part in it, and nothing was sent. */
export class RequestNotSentError extends Error {
  override readonly name = 'RequestNotSentError';
  /** `lack`: a code of errno(3), or our own words; it must not hold an address. */
  constructor(lack: string) {
    super(`The request could not be sent: ${lack}`);
  }
}

/** The far end. */
export interface Subscriber {
  /** Anything that the far end does is a reply. @throws RequestNotSentError */
  post(request: WebhookRequest, timeoutMs: number): Promise<Reply>;
}
