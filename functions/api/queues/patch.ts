import * as z from 'zod';
import jsonPatch from 'fast-json-patch';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { invalidFields, RefusedRequest } from '../errors.ts';
import { parseWith } from '../request-json.ts';
import { findFault } from './metadata.ts';

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

/** @throws RefusedRequest */
export function parseQueuePatch(value: unknown): QueuePatch {
  const patch = parseWith(queuePatchSchema, value);
  const faults = patch.flatMap((operation, index) => faultsOf(operation, `[${index}]`));
  if (faults.length > 0) throw invalidFields(faults);
  return patch;
}

function faultsOf(operation: QueuePatch[number], at: string): FieldError[] {
  switch (operation.op) {
    case 'add':
    case 'replace':
    case 'test':
      return valueFaults(operation.value, `${at}.value`);
    case 'move':
      return `${operation.path}/`.startsWith(`${operation.from}/`)
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
 * A copy of the metadata with the whole patch applied.
 * @param validate validates the result of each operation before the next operation reads it
 * @throws RefusedRequest `conflict` if a path does not exist or a test fails, as in Zaqar
 */
export function applyPatch(
  metadata: Record<string, unknown>,
  patch: QueuePatch,
  validate: (metadata: unknown) => Record<string, unknown>,
): Record<string, unknown> {
  let current = metadata;
  for (const [index, operation] of patch.entries())
    current = validate(applyOperation(current, operation, index));
  return current;
}

function applyOperation(
  metadata: Record<string, unknown>,
  operation: QueuePatch[number],
  index: number,
): unknown {
  try {
    return jsonPatch.applyOperation<{ metadata: unknown }>(
      { metadata: withoutPrototypes(metadata) },
      operation,
      true,
    ).newDocument.metadata;
  } catch (error) {
    if (!(error instanceof jsonPatch.JsonPatchError)) throw error;
    throw new RefusedRequest('conflict', `operation ${index} (${operation.op}): ${reasonOf(error.name)}`, [
      { field: `[${index}].${operation.op === 'test' ? 'value' : 'path'}`, message: reasonOf(error.name) },
    ]);
  }
}

/** A copy without inherited names: `/metadata/toString` exists only if a caller has set it. */
function withoutPrototypes(metadata: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(metadata), (_, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.setPrototypeOf(value, null)
      : value,
  );
}

function reasonOf(name: string): string {
  return name === 'TEST_OPERATION_FAILED' ? 'differs from the current value' : 'does not exist';
}
