import type { AccessTokens } from '../../ports/subscriber.ts';
import type { AccessTokenOptions } from './access-tokens.ts';

/**
 * Loads the library when the first token is needed: few subscriptions need one. Not among the other rare ports
 * (`adapters/lambda/on-demand.ts`), because the library would be in the bundles of all functions that have any of them.
 */
export function lazyAccessTokens(options: AccessTokenOptions): AccessTokens {
  let loaded: Promise<AccessTokens> | undefined;
  const load = async (): Promise<AccessTokens> => {
    const { oauthAccessTokens } = await import('./access-tokens.ts');
    return oauthAccessTokens(options);
  };
  return {
    tokenFor: async (subscription, auth, request) =>
      (await (loaded ??= load())).tokenFor(subscription, auth, request),
  };
}
