import * as z from 'zod';
import { DISABLE_REASONS } from '../../../shared/domain/subscription/vocabulary.ts';
import { parseDestination } from '../../../shared/domain/subscription/destination.ts';
import { MAX_SECRETS } from '../../../shared/domain/subscription/secret-rotation.ts';
import { parseSecret, SECRET_RULE } from '../../../shared/domain/subscription/signing-secret.ts';
import type { OpenedSecret } from '../../../shared/steps/sign-request.ts';
import { isDeeperThan } from '../../../shared/domain/subscription/content-filter.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { invalidFields, RefusedRequest } from '../errors.ts';
import { TEN_YEARS_SECONDS, printable, retryPolicyAt, seconds } from '../fields.ts';
import { parseWith } from '../request-json.ts';
import type { SubscriptionChange } from './change.ts';
import { describedOptions, givenOptions } from './options.ts';
import type { SubscriptionRequest } from './subscribe.ts';

/** Keeps a subscription well under the 400 KB of a DynamoDB item. */
const MAX_OPTIONS_BYTES = 65_536;

/** More than the deepest filter needs: ten nested objects with a list between each two. */
const MAX_OPTIONS_DEPTH = 32;

type SubscriptionFields = Omit<SubscriptionRequest, 'queue'>;

type Rules = Pick<ApiDependencies, 'settings' | 'subscriberFault' | 'tokenUrlFault'>;

/**
 * Parses `{"name"?, "subscriber", "ttl"?, "options"?}`.
 * @throws RefusedRequest
 */
export function subscriptionFields(value: unknown, rules: Rules): SubscriptionFields {
  const schema = subscriptionRequestSchema.extend({ subscriber: subscriberSchema(rules) });
  const { options, subscriber: destination, ...fields } = parseWithOptions(schema, value);
  return { ...fields, destination, ...parseOptions(options, rules) };
}

/**
 * Parses `{"name"?, "subscriber"?, "ttl"?, "options"?, "secret"?}`, with more than `secret`.
 * @throws RefusedRequest
 */
export function subscriptionPatch(value: unknown, rules: Rules): SubscriptionChange {
  const schema = subscriptionPatchSchema.extend({ subscriber: subscriberSchema(rules).exactOptional() });
  const given = parseWithOptions(schema, value);
  const { secret: _, ...changes } = given;
  if (Object.keys(changes).length === 0) {
    throw invalidFields([{ field: 'body', message: 'must contain name, subscriber, ttl or options' }]);
  }
  const { options, subscriber: destination, ...fields } = given;
  return { ...fields, ...(destination && { destination }), ...(options && parseOptions(options, rules)) };
}

/** Parses a line of an export. @throws RefusedRequest */
export function subscriptionLine(value: unknown, rules: Rules): SubscriptionFields {
  const schema = subscriptionLineSchema.extend({ subscriber: subscriberSchema(rules) });
  const { options, subscriber: destination, disabled, ...fields } = parseWithOptions(schema, value);
  return {
    ...fields,
    destination,
    ...parseOptions(options, rules),
    ...(disabled && { disabled: { ...disabled, at: Date.parse(disabled.at) } }),
  };
}

const utcTime = z.iso.datetime('must be a time in UTC, such as 2026-11-21T12:00:00.000Z');

/** As an export writes them: the current secret, then replaced ones with their ends. */
const exportedSecrets = z
  .array(
    z
      .strictObject({ secret: z.string().transform(parseSecret), expiresAt: utcTime.exactOptional() })
      .transform(({ secret, expiresAt }, refinement): OpenedSecret => {
        if (secret !== undefined)
          return { secret, ...(expiresAt !== undefined && { expiresAt: Date.parse(expiresAt) }) };
        refinement.addIssue({ code: 'custom', message: SECRET_RULE, path: ['secret'] });
        return z.NEVER;
      }),
  )
  .min(1)
  .max(MAX_SECRETS)
  .refine(
    (secrets) => secrets.every(({ expiresAt }, index) => (expiresAt === undefined) === (index === 0)),
    'must begin with the one secret without expiresAt',
  );

function subscriberSchema({ subscriberFault }: Rules) {
  return z
    .string()
    .superRefine((subscriber, refinement) => {
      const fault = subscriberFault(subscriber);
      if (fault !== undefined) refinement.addIssue(fault);
    })
    .transform(parseDestination);
}

/** Checks the size of the options before their content. @throws RefusedRequest */
function parseWithOptions<T>(schema: z.ZodType<T>, value: unknown): T {
  const options = typeof value === 'object' && value !== null && 'options' in value ? value.options : {};
  // Checks the depth before JSON.stringify, which recurses.
  if (isDeeperThan(options, MAX_OPTIONS_DEPTH)) {
    const message = `is nested deeper than ${MAX_OPTIONS_DEPTH} levels`;
    throw invalidFields([{ field: 'options', message }]);
  }
  if (Buffer.byteLength(JSON.stringify(options)) > MAX_OPTIONS_BYTES) {
    throw new RefusedRequest('too_large', `the options are over ${MAX_OPTIONS_BYTES} bytes`);
  }
  return parseWith(schema, value);
}

function parseOptions(
  { _retry_policy: given, auth, ...others }: z.output<typeof givenOptions>,
  context: Rules,
): Pick<SubscriptionFields, 'options' | 'auth'> {
  const policy =
    given === undefined
      ? undefined
      : retryPolicyAt('options._retry_policy', given, context.settings.defaultRetryPolicy);
  const fault =
    auth?.type === 'oauth2_client_credentials' ? context.tokenUrlFault(auth.token_url) : undefined;
  if (fault !== undefined) throw invalidFields([{ field: 'options.auth.token_url', message: fault }]);
  return { options: { ...others, ...(policy && { _retry_policy: policy }) }, ...(auth && { auth }) };
}

/** A blank at an end would not be visible. */
const subscriptionName = printable(128).regex(
  /^(?:\S(?:[\s\S]*\S)?)?$/,
  'must not begin or end with a blank',
);

/** The body of a request to subscribe. */
const subscriptionRequestSchema = z.strictObject({
  name: subscriptionName.describe('A name for people. It need not be unique.').exactOptional(),
  subscriber: z.string(),
  ttl: seconds(1, TEN_YEARS_SECONDS)
    .describe('Seconds after which the subscription expires. By default never.')
    .exactOptional(),
  options: givenOptions.default({}),
});

/** The body of a PATCH. */
const subscriptionPatchSchema = z.strictObject({
  name: subscriptionName.nullable().describe('The new name; null removes it.').exactOptional(),
  subscriber: z.string().exactOptional(),
  ttl: seconds(1, TEN_YEARS_SECONDS)
    .nullable()
    .describe('Seconds from now after which the subscription expires; null for never.')
    .exactOptional(),
  options: givenOptions.exactOptional(),
  secret: z
    .literal('keep', 'must be keep')
    .meta({
      description:
        'Keeps the signing secret although the new `subscriber` has another origin. By default it is replaced.',
    })
    .exactOptional(),
});

/** A line of an export or import. */
const subscriptionLineSchema = subscriptionRequestSchema.extend({
  disabled: z
    .strictObject({
      reason: z.enum(DISABLE_REASONS, `must be one of ${DISABLE_REASONS.join(', ')}`),
      at: utcTime,
    })
    .exactOptional(),
  secrets: exportedSecrets.exactOptional(),
});

const describedSubscriber = z.string().meta({
  format: 'uri',
  description:
    'The URL that receives the messages: http or https, not at a private address. Or `pull:`, and a name if wanted: the subscriber receives by the routes of `pull`.',
});

/** For the OpenAPI document. */
export const describedSubscription = subscriptionRequestSchema.extend({
  subscriber: describedSubscriber,
  options: describedOptions.exactOptional(),
});

/** For the OpenAPI document. */
export const describedSubscriptionPatch = subscriptionPatchSchema
  .extend({ subscriber: describedSubscriber.exactOptional(), options: describedOptions.exactOptional() })
  .meta({ minProperties: 1 });
