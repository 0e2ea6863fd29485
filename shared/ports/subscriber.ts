import type { Reply } from '../domain/delivery/outcome.ts';
import type { WebhookRequest } from '../domain/delivery/webhook-request.ts';

/**
 * The sender lacks a resource: file descriptors, memory, a name server or a free look-up. Nothing was sent, so the
 * attempt does not count against the subscriber.
 */
export class RequestNotSentError extends Error {
  override readonly name = 'RequestNotSentError';
  /** `lack`: an errno(3) code or a fixed text; it must not contain an address. */
  constructor(lack: string) {
    super(`The request could not be sent: ${lack}`);
  }
}

/** Sends requests to subscribers. */
export interface Subscriber {
  /** Everything that the subscriber does is a reply. @throws RequestNotSentError */
  post(request: WebhookRequest, timeoutMs: number): Promise<Reply>;
}
