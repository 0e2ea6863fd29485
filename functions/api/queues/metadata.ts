import * as z from 'zod';
import { CONFIRM_SUBSCRIPTIONS } from '../../../shared/domain/subscription/confirmation.ts';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { retryPolicySchema } from '../../../shared/domain/retry/policy-schema.ts';
import type { RetryPolicy } from '../../../shared/domain/retry/policy.ts';
import type { Queue } from '../../../shared/domain/subscription/subscription.ts';
import { invalidFields, RefusedRequest } from '../errors.ts';
import { retryPolicyAt } from '../fields.ts';

/** What Zaqar allows by default, and well under the 400 KB of a DynamoDB item. */
const MAX_METADATA_BYTES = 65_536;

/** Deeper than anyone nests by hand. */
const MAX_METADATA_DEPTH = 32;

/** What metadata is, for the API's description: any object, with these members of a meaning. `queueFields` checks it. */
export const queueMetadataSchema = z.looseObject({
  _retry_policy: retryPolicySchema.exactOptional(),
  [CONFIRM_SUBSCRIPTIONS]: z.boolean().exactOptional(),
});

/**
 * A queue's metadata with what its members of a meaning say.
 * @throws RefusedRequest naming the member
 */
export function queueFields(value: unknown, defaults: RetryPolicy): Pick<Queue, 'metadata' | 'retryPolicy'> {
  const metadata = queueMetadata(value);
  const { _retry_policy: given, [CONFIRM_SUBSCRIPTIONS]: confirms = false } = metadata;
  if (typeof confirms !== 'boolean') {
    throw invalidFields([{ field: CONFIRM_SUBSCRIPTIONS, message: 'must be true or false' }]);
  }
  if (given === undefined) return { metadata };
  return { metadata, retryPolicy: retryPolicyAt('_retry_policy', given, defaults) };
}

/**
 * Metadata is any JSON object that we can give back as it came.
 * @throws RefusedRequest `invalid_request` naming the member, or `too_large`.
 */
export function queueMetadata(value: unknown): Record<string, unknown> {
  if (!isObject(value)) throw invalidFields([{ field: 'metadata', message: 'must be a JSON object' }]);
  if (Object.hasOwn(value, '__proto__')) {
    throw invalidFields([{ field: '__proto__', message: 'is a name that cannot be kept' }]);
  }
  // First, because JSON.stringify itself recurses.
  const fault = faultWithin(value);
  if (fault !== undefined) throw invalidFields([fault]);
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_METADATA_BYTES) {
    throw new RefusedRequest('too_large', `the metadata is over ${MAX_METADATA_BYTES} bytes`);
  }
  return value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What cannot be kept, by the outermost member. Iterative: a deep value must not exhaust the stack before its depth is refused. */
export function faultWithin(metadata: Record<string, unknown>): FieldError | undefined {
  const pending = Object.entries(metadata).map(([field, value]) => ({ field, value, depth: 1 }));
  for (let entry = pending.pop(); entry !== undefined; entry = pending.pop()) {
    const { field, value, depth } = entry;
    if (depth > MAX_METADATA_DEPTH)
      return { field, message: `is nested deeper than ${MAX_METADATA_DEPTH} levels` };
    if (typeof value === 'number' && !isFaithful(value)) {
      return { field, message: 'is a number that would lose digits; give it as text' };
    }
    if (typeof value === 'object' && value !== null) {
      // One by one: as arguments of one call, a long list would exhaust the stack.
      const inners: unknown[] = Object.values(value);
      for (const inner of inners) pending.push({ field, value: inner, depth: depth + 1 });
    }
  }
  return undefined;
}

/** Beyond 2^53 neighbouring integers are read as one, and beyond 1.8e308 a number is read as infinity. */
function isFaithful(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
}
