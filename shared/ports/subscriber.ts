import type { Reply } from '../domain/delivery/outcome.ts';
import type { WebhookRequest } from '../domain/delivery/webhook-request.ts';
import type { OAuth2Auth } from '../domain/subscription/auth.ts';

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
  post(request: WebhookRequest, timeoutMs: number, options?: { tls?: ClientTls }): Promise<Reply>;
}

/**
 * For one connection, in PEM: the client's certificate and key, and authorities trusted in place of the public ones.
 */
export type ClientTls = { certificate: string; privateKey: string; ca?: string };

/** `detail`: fixed texts and error codes; never an address, a secret or what the token endpoint said. */
export type TokenResult = { kind: 'token'; token: string } | { kind: 'failed'; detail: string };

/** Gets access tokens from the authorisation servers of subscribers. Caches them per subscription and `auth`. */
export interface AccessTokens {
  /**
   * `refused`: a token that the subscriber answered with 401, to be replaced. It is the result again if it is new:
   * another would be refused as well. Everything that the token endpoint does
   * is a result within `timeoutMs`. @throws RequestNotSentError
   */
  tokenFor(
    subscription: { queue: string; subscriptionId: string },
    auth: OAuth2Auth,
    options: { timeoutMs: number; refused?: string },
  ): Promise<TokenResult>;
}
