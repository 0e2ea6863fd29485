import { z } from 'zod';
import { flag, listOf, oneOf, wholeNumber } from './rules.ts';

const AUDIENCE_RULE = 'must be a list of audiences';

const PUBLIC_URL_RULE =
  'must be an http or https URL of at most 200 characters without a query, a fragment or a slash at its end';

function isPublicUrl(text: string): boolean {
  const filled = text.replaceAll('{host}', 'host').replaceAll('{apiId}', 'id');
  return text.length <= 200 && /^https?:\/\/[^\s?#{}]*[^\s?#{}/]$/.test(filled) && URL.canParse(filled);
}

/** Who administers it, and how it is reached. */
export const administrationSettings = {
  /**
   * Requests a second that the API takes, twice as many at once: 1 to 10000 (the account's quota in API Gateway). Default 100,
   * which takes some ten of the account's concurrent functions, so that no caller of it can starve the deliveries.
   */
  apiRateLimit: wholeNumber('requests a second', 1, 10_000).default(100),
  /** How callers of the API prove who they are; `none` only in `local`. Default `iam`. */
  apiAuthorization: oneOf('iam', 'jwt', 'none').default('iam'),
  /** Issuer of the tokens, an https URL; with `apiAuthorization` `jwt`. */
  jwtIssuer: z.url({ protocol: /^https$/, error: 'must be an https URL' }).optional(),
  /** Audiences accepted; with `apiAuthorization` `jwt`. */
  jwtAudience: z
    .preprocess(
      listOf,
      z.array(z.string(AUDIENCE_RULE).min(1, AUDIENCE_RULE), AUDIENCE_RULE).min(1, AUDIENCE_RULE),
    )
    .optional(),
  /**
   * Whether a new subscriber is asked to confirm, and gets nothing else before it has. A queue can ask for it by itself
   * with `_confirm_subscriptions` in its metadata. Default false.
   */
  subscriptionConfirmation: flag().default(false),
  /**
   * Where subscribers reach the API to confirm, if not at its own domain: a URL, in which `{host}` stands for the Host
   * header and `{apiId}` for the API of the request that subscribes. Default the API's own domain.
   */
  publicApiUrl: z.string(PUBLIC_URL_RULE).refine(isPublicUrl, PUBLIC_URL_RULE).optional(),
};
