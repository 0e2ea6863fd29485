import type { AccessTokens } from '../../ports/subscriber.ts';
import { once } from '../lambda/on-demand.ts';
import type { AccessTokenOptions } from './access-tokens.ts';

/** Few subscriptions need a token. */
export function lazyAccessTokens(options: AccessTokenOptions): AccessTokens {
  const accessTokens = once(async () => {
    const { oauthAccessTokens } = await import('./access-tokens.ts');
    return oauthAccessTokens(options);
  });
  return {
    tokenFor: async (subscription, auth, request) =>
      (await accessTokens()).tokenFor(subscription, auth, request),
  };
}
