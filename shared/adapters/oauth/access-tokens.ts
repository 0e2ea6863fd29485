import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { OAuth2Auth } from '../../domain/subscription/auth.ts';
import type { Clock } from '../../ports/clock.ts';
import type { AccessTokens, TokenResult } from '../../ports/subscriber.ts';
import type { GuardedFetch } from '../http/guarded-fetch.ts';
import { requestToken } from './token-request.ts';

export type AccessTokenOptions = { fetch: GuardedFetch; clock: Pick<Clock, 'now'>; userAgent: string };

/** Milliseconds that an exchange may take, and its share of the attempt: the rest is for the request. */
const MAX_EXCHANGE_MS = 5_000;
const MAX_OF_ATTEMPT = 0.5;

/** Milliseconds for which a token is used at most, and before its end at which it is renewed. */
const MAX_AGE_MS = 60 * 60 * 1000;
const RENEWED_BEFORE_MS = 60_000;

/** Assumed lifetime of a token without `expires_in`. A 401 renews it sooner. */
const UNKNOWN_LIFETIME_MS = 5 * 60 * 1000;

/**
 * Milliseconds after an answer before the server is asked again: a failure counts for all attempts of the subscription,
 * and a subscriber that refuses a new token would refuse every token.
 */
const ASKED_AGAIN_AFTER_MS = 5_000;

/** Milliseconds that a renewal needs. With less it would fail, and its failure would count for other attempts. */
const LEAST_RENEWAL_MS = 1_000;

/** Each takes 8 KB at most. */
const MAX_RESULTS = 1_000;

type Kept = { result: TokenResult; answeredAt: number; until: number };

/** Access tokens by OAuth 2 client credentials (RFC 6749 §4.4), with a cache per subscription and credentials. */
export function oauthAccessTokens({ clock, ...sender }: AccessTokenOptions): AccessTokens {
  const results = new LRUCache<string, Kept>({ max: MAX_RESULTS });
  const exchanges = new Map<string, Promise<TokenResult>>();

  const exchange = async (name: string, auth: OAuth2Auth, timeoutMs: number): Promise<TokenResult> => {
    const startedAt = clock.now();
    const { lifetimeMs, ...result } = await requestToken(sender, auth, timeoutMs);
    const answeredAt = clock.now();
    const until =
      result.kind === 'token' ? startedAt + usableMs(lifetimeMs) : answeredAt + ASKED_AGAIN_AFTER_MS;
    results.set(name, { result, answeredAt, until });
    return result;
  };

  const newExchange = (name: string, auth: OAuth2Auth, timeoutMs: number): Promise<TokenResult> => {
    const started = exchange(name, auth, timeoutMs).finally(() => exchanges.delete(name));
    exchanges.set(name, started);
    return started;
  };

  return {
    tokenFor: async (subscription, auth, { timeoutMs, refused }) => {
      const name = nameOf(subscription, auth);
      const kept = results.get(name);
      if (kept !== undefined && isUsable(kept, clock.now(), refused)) return kept.result;
      results.delete(name);
      const limitMs = Math.min(MAX_EXCHANGE_MS, timeoutMs * MAX_OF_ATTEMPT);
      const running = exchanges.get(name);
      if (running !== undefined) return within(limitMs, running);
      return refused !== undefined && limitMs < LEAST_RENEWAL_MS
        ? { kind: 'failed', detail: 'no time left to renew the token' }
        : newExchange(name, auth, limitMs);
    },
  };
}

/** Different for each subscription, and for each change of its credentials. */
function nameOf(subscription: { queue: string; subscriptionId: string }, auth: OAuth2Auth): string {
  const { queue, subscriptionId } = subscription;
  return createHash('sha256')
    .update(JSON.stringify([queue, subscriptionId, auth]))
    .digest('base64');
}

function isUsable({ result, answeredAt, until }: Kept, now: number, refused: string | undefined): boolean {
  if (now < answeredAt || now >= until) return false;
  return result.kind === 'failed' || result.token !== refused || now - answeredAt < ASKED_AGAIN_AFTER_MS;
}

/** Milliseconds for which a token is used. One that lives for less than two minutes is used for half of its life. */
function usableMs(lifetimeMs = UNKNOWN_LIFETIME_MS): number {
  return Math.min(MAX_AGE_MS, Math.max(lifetimeMs - RENEWED_BEFORE_MS, lifetimeMs / 2));
}

/** The result, or a failure after `timeoutMs`: another attempt may have started the exchange, with more time. */
async function within(timeoutMs: number, result: Promise<TokenResult>): Promise<TokenResult> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<TokenResult>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, { kind: 'failed', detail: 'timeout: before an answer' });
  });
  try {
    return await Promise.race([result, late]);
  } finally {
    clearTimeout(timer);
  }
}
