import type { Reply } from '../domain/retry/outcome.ts';
import type { WebhookRequest } from '../domain/delivery/webhook-request.ts';
import type { OAuth2Auth } from '../domain/subscription/auth.ts';
import type { SubscriptionKey } from '../domain/subscription/subscription.ts';

/**
 * The sender lacks a resource: file descriptors, memory, a name server or a free look-up. Nothing was sent, so the
 * attempt does not count against the subscriber.
 */
export class RequestNotSentError extends Error {
  override readonly name = 'RequestNotSentError';
  readonly isTransient = true;
  /** An errno(3) code or a fixed text; it must not contain an address. */
  readonly lack: string;
  constructor(lack: string) {
    super(`The request could not be sent: ${lack}`);
    this.lack = lack;
  }
}

/** Sends requests to subscribers. */
export interface Subscriber {
  /** Everything that the subscriber does is a reply. @throws RequestNotSentError */
  post(request: WebhookRequest, timeoutMs: number, options?: { tls?: ClientTls }): Promise<Reply>;
}

/**
 * The client's side of one connection, in PEM: its certificate and key, and authorities trusted in place of the public
 * ones.
 */
export type ClientTls = { identity?: { certificate: string; privateKey: string }; ca?: string };

/** `detail`: fixed texts and error codes; never an address, a secret or what the token endpoint said. */
export type TokenResult = { kind: 'token'; token: string } | { kind: 'failed'; detail: string };

/** Gets access tokens from the authorisation servers of subscribers. Caches them per subscription and `auth`. */
export interface AccessTokens {
  /**
   * `refused`: a token that the subscriber answered with 401, to be replaced. It is the result again if it is new:
   * another would be refused as well. Everything that the token endpoint does is a result within half of `timeoutMs`.
   * @throws RequestNotSentError
   */
  tokenFor(
    subscription: SubscriptionKey,
    auth: OAuth2Auth,
    options: { timeoutMs: number; refused?: string },
  ): Promise<TokenResult>;
}
