import * as z from 'zod';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { RETAIN_MESSAGES } from '../../../shared/domain/message/body.ts';
import { policyOrPresetSchema, retryPolicySchema } from '../../../shared/domain/retry/policy-schema.ts';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import { queueMetadataSchema } from '../../../shared/domain/subscription/queue-metadata.ts';
import { RETAINED_MESSAGES } from '../../../shared/domain/message/vocabulary.ts';
import type { Queue } from '../../../shared/domain/subscription/subscription.ts';
import type { ApiSettings } from '../dependencies.ts';
import { invalidFields, RefusedRequest } from '../errors.ts';
import { MAX_DELAY_SECONDS } from '../../../shared/domain/delivery/wake-up-plan.ts';
import { MAX_TTL_SECONDS, retryPolicyAt, seconds } from '../fields.ts';
import { parseWith } from '../request-json.ts';

/** Zaqar's default, and well under the 400 KB of a DynamoDB item. */
const MAX_METADATA_BYTES = 65_536;

const MAX_METADATA_DEPTH = 32;

/** Zaqar's metadata for posts: default ttl, default delay and the largest size of a post. */
const postRulesSchema = z.object({
  _default_message_ttl: seconds(1, MAX_TTL_SECONDS)
    .describe('The ttl of posted messages that have none, in seconds.')
    .exactOptional(),
  _default_message_delay: seconds(0, MAX_DELAY_SECONDS)
    .describe('The delay of posted messages that have none, in seconds.')
    .exactOptional(),
  _max_messages_post_size: z
    .int('must be a whole number of bytes')
    .min(1, 'must be at least 1 byte')
    .describe('The largest size of a post, in bytes.')
    .exactOptional(),
});

/** In seconds and bytes. */
export type PostRules = z.output<typeof postRulesSchema>;

/** The valid rules in a queue's metadata. Ignores invalid ones, which earlier versions stored unchecked. */
export function postRulesOf(metadata: Record<string, unknown>): PostRules {
  const valid = Object.entries(postRulesSchema.shape).filter(
    ([name, rule]) => rule.safeParse(metadata[name]).success,
  );
  return postRulesSchema.parse(Object.fromEntries(valid.map(([name]) => [name, metadata[name]])));
}

const ruledMembersSchema = postRulesSchema.extend({
  ...queueMetadataSchema.shape,
  [RETAIN_MESSAGES]: z
    .enum(RETAINED_MESSAGES, `must be ${RETAINED_MESSAGES.join(' or ')}`)
    .describe('Which message bodies are kept, in place of the setting `retainMessages`.')
    .exactOptional(),
});

/** For the OpenAPI document: any object, in which these members have a meaning. `parseQueueFields` validates it. */
export const shownMetadata = z.looseObject({
  _retry_policy: retryPolicySchema.exactOptional(),
  ...ruledMembersSchema.shape,
});

/** For the OpenAPI document: metadata as given, in which a preset may name the policy. */
export const describedMetadata = shownMetadata.extend({
  _retry_policy: policyOrPresetSchema.exactOptional(),
});

/**
 * Parses a queue's metadata and the members that have a meaning.
 * @throws RefusedRequest naming the member
 */
export function parseQueueFields(
  value: unknown,
  { defaultRetryPolicy: defaults, retentionMs }: Pick<ApiSettings, 'defaultRetryPolicy' | 'retentionMs'>,
): Pick<Queue, 'metadata' | 'retryPolicy'> {
  const metadata = checkMetadata(value);
  const { _retention_days: days = 0 } = parseWith(ruledMembersSchema, metadata);
  if (days * DAY_MS > retentionMs) {
    const message = `must not exceed the ${retentionMs / DAY_MS} days of the setting retentionDays`;
    throw invalidFields([{ field: '_retention_days', message }]);
  }
  const { _retry_policy: given } = metadata;
  if (given === undefined) return { metadata };
  const retryPolicy = retryPolicyAt('_retry_policy', given, defaults);
  const isPreset = typeof given === 'string';
  return { metadata: isPreset ? { ...metadata, _retry_policy: retryPolicy } : metadata, retryPolicy };
}

/**
 * Accepts any JSON object that can be returned exactly as sent.
 * @throws RefusedRequest `invalid_request` naming the member, or `too_large`.
 */
export function checkMetadata(value: unknown): Record<string, unknown> {
  if (!isObject(value)) throw invalidFields([{ field: 'metadata', message: 'must be a JSON object' }]);
  if (Object.hasOwn(value, '__proto__')) {
    throw invalidFields([{ field: '__proto__', message: 'is a name that cannot be stored' }]);
  }
  // Checks the depth before JSON.stringify, which recurses.
  const fault = findFault(value);
  if (fault !== undefined) throw invalidFields([fault]);
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_METADATA_BYTES) {
    throw new RefusedRequest('too_large', `the metadata is over ${MAX_METADATA_BYTES} bytes`);
  }
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The first value that cannot be stored, named by its outermost member. Not recursive: values can be very deep. */
export function findFault(metadata: Record<string, unknown>): FieldError | undefined {
  const pending = Object.entries(metadata).map(([field, value]) => ({ field, value, depth: 1 }));
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const { field, value, depth } = entry;
    if (depth > MAX_METADATA_DEPTH)
      return { field, message: `is nested deeper than ${MAX_METADATA_DEPTH} levels` };
    if (typeof value === 'number' && !keepsDigits(value)) {
      return { field, message: 'is a number that would lose digits; send it as text' };
    }
    if (typeof value === 'object' && value !== null) {
      // One push per value: a long list as arguments of one call would exhaust the stack.
      const inners: unknown[] = Object.values(value);
      for (const inner of inners) pending.push({ field, value: inner, depth: depth + 1 });
    }
  }
  return undefined;
}

/** Beyond 2^53 JSON.parse reads neighbouring integers as one, and beyond 1.8e308 any number as infinity. */
function keepsDigits(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
