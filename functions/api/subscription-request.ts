import * as z from 'zod';
import type { RetryPolicy } from '../../shared/domain/retry-policy.ts';
import type { SubscriptionOptions } from '../../shared/domain/subscription.ts';
import { RESERVED_HEADERS, ZAQAR_MESSAGE } from '../../shared/domain/webhook-request.ts';
import { RefusedRequest } from './error-answers.ts';
import { parsed } from './request-json.ts';
import { retryPolicyAt } from './retry-policy-field.ts';
import { MAX_TTL_SECONDS, seconds } from './seconds.ts';

/** With its headers and its template a subscription stays well under the 400 KB of a DynamoDB item. */
const MAX_OPTIONS_BYTES = 65_536;
const MAX_POST_HEADERS = 50;
/** What common HTTP servers take as a request's headers, in bytes; ours come on top. */
const MAX_POST_HEADERS_BYTES = 8192;

export type SubscriptionFields = { subscriber: string; options: SubscriptionOptions; ttl?: number };

/**
 * `{"subscriber", "ttl"?, "options"?}`, checked to the last field.
 * @throws RefusedRequest
 */
export const subscriptionFields = (
  value: unknown,
  context: { defaultRetryPolicy: RetryPolicy; subscriberFault: (url: string) => string | undefined },
): SubscriptionFields => {
  const schema = subscription.extend({
    subscriber: z.string().superRefine((url, refinement) => {
      const fault = context.subscriberFault(url);
      if (fault !== undefined) refinement.addIssue(fault);
    }),
  });
  const {
    subscriber,
    ttl,
    options: { _retry_policy: given, ...others },
  } = parsed(schema, value);
  const policy =
    given === undefined
      ? undefined
      : retryPolicyAt('options._retry_policy', given, context.defaultRetryPolicy);
  const options = { ...others, ...(policy && { _retry_policy: policy }) };
  // Last, because what a user nests without end is refused by then, and JSON.stringify recurses.
  if (Buffer.byteLength(JSON.stringify(options)) > MAX_OPTIONS_BYTES) {
    throw new RefusedRequest('too_large', `the options are over ${MAX_OPTIONS_BYTES} bytes`);
  }
  return {
    subscriber,
    options,
    ...(ttl !== undefined && { ttl }),
  };
};

/** A token (RFC 9110 §5.6.2). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Printable ASCII and tab: what lies beyond is read differently by different servers (RFC 9110 §5.5). */
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

const isObjectWithProto = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__');

const headerNameFault = (name: string): string | undefined => {
  if (!HEADER_NAME.test(name)) return 'is not a valid header name';
  return RESERVED_HEADERS.has(name.toLowerCase()) ? 'is a header that cannot be set' : undefined;
};

const postHeaders = z
  .unknown()
  // zod's record would drop it without a word.
  .refine((headers) => !isObjectWithProto(headers), 'must not hold __proto__')
  .pipe(
    z
      .record(z.string(), z.string().regex(HEADER_VALUE, 'must be printable ASCII'))
      .superRefine((headers, refinement) => {
        const seen = new Set<string>();
        for (const name of Object.keys(headers)) {
          const fault =
            headerNameFault(name) ?? (seen.has(name.toLowerCase()) ? 'is given twice' : undefined);
          if (fault !== undefined) refinement.addIssue({ code: 'custom', path: [name], message: fault });
          seen.add(name.toLowerCase());
        }
      })
      .refine(
        (headers) => Object.keys(headers).length <= MAX_POST_HEADERS,
        `must be at most ${MAX_POST_HEADERS} headers`,
      )
      .refine(
        (headers) => Object.entries(headers).flat().join('').length <= MAX_POST_HEADERS_BYTES,
        `must be at most ${MAX_POST_HEADERS_BYTES} bytes in all`,
      ),
  );

const subscription = z.strictObject({
  subscriber: z.string(),
  ttl: seconds(1, MAX_TTL_SECONDS).exactOptional(),
  options: z
    .strictObject({
      _retry_policy: z.unknown().exactOptional(),
      post_headers: postHeaders.exactOptional(),
      post_data: z
        .string()
        .refine((text) => text.split(ZAQAR_MESSAGE).length <= 2, `must hold ${ZAQAR_MESSAGE} at most once`)
        .exactOptional(),
      raw_delivery: z.boolean().exactOptional(),
    })
    .default({}),
});
