import jsonPatch from 'fast-json-patch';
import * as z from 'zod';
import { DAY_MS } from '../../../shared/domain/duration.ts';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { isJsonObject, isObject } from '../../../shared/domain/json.ts';
import { policyOrPresetSchema, retryPolicySchema } from '../../../shared/domain/retry/policy-schema.ts';
import { queueMetadataSchema } from '../../../shared/domain/subscription/queue-metadata.ts';
import type { Queue } from '../../../shared/domain/subscription/subscription.ts';
import type { ApiSettings } from '../dependencies.ts';
import { invalidFields, RefusedRequest } from '../errors.ts';
import { retryPolicyAt } from '../fields.ts';
import { parseWith } from '../request-json.ts';
import { postRulesSchema } from './post-rules.ts';

/** Zaqar's default, and well under the 400 KB of a DynamoDB item. */
const MAX_METADATA_BYTES = 65_536;

const MAX_METADATA_DEPTH = 32;

const ruledMembersSchema = postRulesSchema.extend(queueMetadataSchema.shape);

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
function checkMetadata(value: unknown): Record<string, unknown> {
  if (!isJsonObject(value)) throw invalidFields([{ field: 'metadata', message: 'must be a JSON object' }]);
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

/** The first value that cannot be stored, named by its outermost member. Not recursive: values can be very deep. */
function findFault(metadata: Record<string, unknown>): FieldError | undefined {
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

/** Each operation copies metadata of up to 64 KiB. */
const MAX_OPERATIONS = 100;

const POINTER_RULE = 'must point into the metadata, such as /metadata/key';

/** RFC 6901, below Zaqar's root `/metadata`. Metadata cannot contain the name `__proto__`. */
const pointer = z
  .string()
  .regex(/^\/metadata\/(?:[^~]|~[01])*$/, POINTER_RULE)
  .refine((path) => !path.split('/').includes('__proto__'), POINTER_RULE);

const valueFields = { path: pointer, value: z.unknown() };

/** A JSON patch (RFC 6902) of a queue's metadata. */
export const queuePatchSchema = z
  .array(
    z.discriminatedUnion(
      'op',
      [
        z.strictObject({ op: z.literal('add'), ...valueFields }),
        z.strictObject({ op: z.literal('replace'), ...valueFields }),
        z.strictObject({ op: z.literal('test'), ...valueFields }),
        z.strictObject({ op: z.literal('remove'), path: pointer }),
        z.strictObject({ op: z.literal('move'), from: pointer, path: pointer }),
        z.strictObject({ op: z.literal('copy'), from: pointer, path: pointer }),
      ],
      'must be an operation: add, remove, replace, move, copy or test',
    ),
    'must be a list of operations',
  )
  .min(1, 'must hold at least one operation')
  .max(MAX_OPERATIONS, `must hold at most ${MAX_OPERATIONS} operations`);

type QueuePatch = z.output<typeof queuePatchSchema>;

/** @throws RefusedRequest for what the schema accepts */
export function checkPatch(patch: QueuePatch): void {
  const faults = patch.flatMap((operation, index) => findFaults(operation, `[${index}]`));
  if (faults.length > 0) throw invalidFields(faults);
}

function findFaults(operation: QueuePatch[number], at: string): FieldError[] {
  switch (operation.op) {
    case 'add':
    case 'replace':
    case 'test':
      return valueFaults(operation.value, `${at}.value`);
    case 'move':
      return operation.path.startsWith(`${operation.from}/`)
        ? [{ field: `${at}.path`, message: 'must not be inside the value that is moved' }]
        : [];
    case 'copy':
    case 'remove':
      return [];
  }
}

function valueFaults(value: unknown, field: string): FieldError[] {
  if (value === undefined) return [{ field, message: 'is required' }];
  const fault = findFault({ value });
  return fault === undefined ? [] : [{ ...fault, field }];
}

/**
 * A copy of the metadata with the whole patch applied. Checks the result of each operation before the next one reads it.
 * @throws RefusedRequest `conflict` if a path does not exist or a test fails, as in Zaqar
 */
export function applyPatch(metadata: Record<string, unknown>, patch: QueuePatch): Record<string, unknown> {
  let current = metadata;
  for (const [index, operation] of patch.entries())
    current = checkMetadata(applyOperation(current, operation, index));
  return current;
}

function applyOperation(
  metadata: Record<string, unknown>,
  operation: QueuePatch[number],
  index: number,
): unknown {
  try {
    if ('from' in operation) checkIndices(metadata, operation.from, 'FROM');
    checkIndices(metadata, operation.path, 'PATH');
    return jsonPatch.applyOperation<{ metadata: unknown }>(
      { metadata: withoutPrototypes(metadata) },
      operation,
      true,
    ).newDocument.metadata;
  } catch (error) {
    if (!(error instanceof jsonPatch.JsonPatchError)) throw error;
    const { field, message } = explain(error.name, operation);
    throw new RefusedRequest('conflict', `operation ${index} (${operation.op}): ${field} ${message}`, [
      { field: `[${index}].${field}`, message },
    ]);
  }
}

/** RFC 6901 §4. fast-json-patch would read '', 01 and 2^32 as other indices. @throws jsonPatch.JsonPatchError */
function checkIndices(metadata: object, path: string, of: 'FROM' | 'PATH'): void {
  let value: unknown = metadata;
  for (const name of path.split('/').slice(2).map(jsonPatch.unescapePathComponent)) {
    const isIndex = name === String(Number(name)) && Number(name) < 2 ** 31;
    if (Array.isArray(value) && name !== '-' && !isIndex)
      throw new jsonPatch.JsonPatchError('', `OPERATION_${of}_UNRESOLVABLE`);
    value = isObject(value) ? Reflect.get(value, name) : undefined;
  }
}

/** A copy without inherited names: `/metadata/toString` exists only if a caller has set it. */
function withoutPrototypes(metadata: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(metadata), (_, value: unknown): unknown =>
    isJsonObject(value) ? Object.setPrototypeOf(value, null) : value,
  );
}

function explain(name: string, operation: QueuePatch[number]): FieldError {
  if (name === 'TEST_OPERATION_FAILED') return { field: 'value', message: 'differs from the current value' };
  const isFrom = name === 'OPERATION_FROM_UNRESOLVABLE' && 'from' in operation;
  const missing = isFrom ? operation.from : operation.path;
  return { field: isFrom ? 'from' : 'path', message: `is ${missing}, which does not exist` };
}
