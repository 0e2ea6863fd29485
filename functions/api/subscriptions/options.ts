import * as z from 'zod';
import { ATTEMPT_TIMEOUT_SECONDS } from '../../../shared/domain/retry/attempt-duration.ts';
import { ZAQAR_MESSAGE } from '../../../shared/domain/message/payload.ts';
import { policyOrPresetSchema } from '../../../shared/domain/retry/policy-schema.ts';
import {
  comparisons,
  scalar,
  parseContentFilter,
} from '../../../shared/domain/subscription/content-filter-schema.ts';
import type { SubscriptionOptions } from '../../../shared/domain/subscription/subscription.ts';
import { messageType, perSecondField, seconds } from '../fields.ts';
import { authOption } from './auth-option.ts';
import { postHeaderRecord, postHeaders } from './post-headers.ts';

const MAX_EVENT_TYPES = 100;
const EVENT_TYPES_RULE = `must be a list of 1 to ${MAX_EVENT_TYPES} types`;

/**
 * What a subscription or a link of the portal names. Types match exactly. An asterisk is refused, because it looks like a
 * wildcard but would match nothing.
 */
export const eventTypes = z
  .array(
    messageType.refine((type) => !type.includes('*'), 'must not hold *: types match exactly'),
    EVENT_TYPES_RULE,
  )
  .min(1, EVENT_TYPES_RULE)
  .max(MAX_EVENT_TYPES, EVENT_TYPES_RULE)
  .overwrite((types) => [...new Set(types)]);

/** Stored as sent; `content-filter.ts` defines its meaning. */
const contentFilter = z.unknown().superRefine((given, refinement) => {
  const read = parseContentFilter(given);
  if (read.ok) return;
  for (const { path, message } of read.faults) {
    refinement.addIssue({ code: 'custom', path: [...path], message });
  }
});

/** The rules for what callers send, for each option of the domain. `retryPolicyAt` then validates the retry policy. */
export const givenOptions = z.strictObject({
  _retry_policy: z.unknown().exactOptional(),
  post_headers: postHeaders.exactOptional(),
  post_data: z
    .string()
    .refine((text) => text.split(ZAQAR_MESSAGE).length <= 2, `must contain ${ZAQAR_MESSAGE} at most once`)
    .describe(`A template of the request body, in which ${ZAQAR_MESSAGE} is replaced by the message.`)
    .exactOptional(),
  raw_delivery: z.boolean().exactOptional(),
  attempt_timeout: seconds(ATTEMPT_TIMEOUT_SECONDS.least, ATTEMPT_TIMEOUT_SECONDS.most)
    .describe('The timeout of an attempt in seconds, if less than that of the deployment.')
    .exactOptional(),
  max_per_second: perSecondField.describe('Maximum number of attempts a second.').exactOptional(),
  retry_throttled: z.boolean().describe('Adds 429 to retry_on_status of the retry policy.').exactOptional(),
  adapt_to_throttling: z
    .boolean()
    .describe('Slow all requests down to what the subscriber takes; a 429 is retried.')
    .exactOptional(),
  hold_while_down: z
    .boolean()
    .describe('While the subscriber is down, send one probe at a time; the other deliveries wait.')
    .exactOptional(),
  event_types: eventTypes.describe('Receives only messages of these types.').exactOptional(),
  filter: contentFilter.exactOptional(),
  auth: authOption.exactOptional(),
} satisfies Record<keyof SubscriptionOptions | 'auth', z.ZodType>);

const comparison = z.union(
  Object.entries(comparisons).map(([name, operand]) => z.strictObject({ [name]: operand })),
);

/** For the OpenAPI document: what `parseContentFilter` accepts, without its limits. */
export const contentFilterSchema: z.ZodType = z
  .object({
    $or: z
      .array(z.lazy(() => contentFilterSchema))
      .min(2)
      .exactOptional(),
  })
  .catchall(z.union([z.array(z.union([scalar, comparison])).min(1), z.lazy(() => contentFilterSchema)]))
  .meta({
    minProperties: 1,
    description: 'Matches the data of a message, with the syntax of Amazon EventBridge event patterns.',
  });

/** For the OpenAPI document: the options including the parts that the routes validate separately. */
export const describedOptions = givenOptions.extend({
  _retry_policy: policyOrPresetSchema.exactOptional(),
  post_headers: postHeaderRecord.exactOptional(),
  filter: contentFilterSchema.exactOptional(),
});
