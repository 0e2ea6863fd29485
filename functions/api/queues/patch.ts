import jsonPatch from 'fast-json-patch';
import * as z from 'zod';
import type { FieldError } from '../../../shared/domain/errors.ts';
import { invalidFields, RefusedRequest } from '../errors.ts';
import { faultWithin } from './metadata.ts';
import { parsed } from '../request-json.ts';

/** Many times what a person or Zaqar's client changes at once. Each is applied to metadata of up to 64 KiB. */
const MAX_OPERATIONS = 100;

const POINTER_RULE = 'must lead into the metadata, such as /metadata/key';

/** RFC 6901, below Zaqar's root `/metadata`. `__proto__` is a name that metadata cannot hold. */
const pointer = z
  .string()
  .regex(/^\/metadata\/(?:[^~]|~[01])*$/, POINTER_RULE)
  .refine((path) => !path.split('/').includes('__proto__'), POINTER_RULE);

const valued = { path: pointer, value: z.unknown() };

/** A JSON patch (RFC 6902) of a queue's metadata. */
export const queuePatchSchema = z
  .array(
    z.discriminatedUnion(
      'op',
      [
        z.strictObject({ op: z.literal('add'), ...valued }),
        z.strictObject({ op: z.literal('replace'), ...valued }),
        z.strictObject({ op: z.literal('test'), ...valued }),
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

export type QueuePatch = z.output<typeof queuePatchSchema>;

/** @throws RefusedRequest */
export function queuePatch(value: unknown): QueuePatch {
  const patch = parsed(queuePatchSchema, value);
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
        ? [{ field: `${at}.path`, message: 'must not lie within what is moved' }]
        : [];
    case 'copy':
    case 'remove':
      return [];
  }
}

function valueFaults(value: unknown, field: string): FieldError[] {
  if (value === undefined) return [{ field, message: 'is required' }];
  const fault = faultWithin({ value });
  return fault === undefined ? [] : [{ ...fault, field }];
}

/**
 * The metadata after the patch, a value of its own; all of the patch or nothing.
 * @param checked is asked after each operation, so that none can make what the next chokes on
 * @throws RefusedRequest `conflict` where a path is not there or a test fails, as Zaqar answers
 */
export function patched(
  metadata: Record<string, unknown>,
  patch: QueuePatch,
  checked: (metadata: unknown) => Record<string, unknown>,
): Record<string, unknown> {
  let current = metadata;
  for (const [index, operation] of patch.entries()) current = checked(applied(current, operation, index));
  return current;
}

function applied(metadata: Record<string, unknown>, operation: QueuePatch[number], index: number): unknown {
  try {
    return jsonPatch.applyOperation<{ metadata: unknown }>({ metadata: bare(metadata) }, operation, true)
      .newDocument.metadata;
  } catch (error) {
    if (!(error instanceof jsonPatch.JsonPatchError)) throw error;
    throw new RefusedRequest('conflict', `operation ${index} (${operation.op}): ${reasonOf(error.name)}`, [
      { field: `[${index}].${operation.op === 'test' ? 'value' : 'path'}`, message: reasonOf(error.name) },
    ]);
  }
}

/** A copy in which no name is inherited: `/metadata/toString` is there only if somebody put it there. */
function bare(metadata: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(metadata), (_, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.setPrototypeOf(value, null)
      : value,
  );
}

function reasonOf(name: string): string {
  return name === 'TEST_OPERATION_FAILED' ? 'is not what is there' : 'does not lead to a place that is there';
}
