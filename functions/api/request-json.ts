import type * as z from 'zod';
import type { FieldError } from '../../shared/domain/errors.ts';
import { type Json, parseJson } from '../../shared/wire/json-slice.ts';
import { invalidFields, RefusedRequest } from './errors.ts';

/** The maximum size of an SQS message, and so of a request (Amazon SQS developer guide, "Message quotas"). */
export const MAX_MESSAGE_BYTES = 1_048_576;

/** @throws RefusedRequest `too_large` over 1 MiB, `invalid_json` if the body is not one JSON value in UTF-8 */
export function readJson(body: Uint8Array): Json {
  const json = parseJson(readText(body));
  if (json === undefined) throw notJson();
  return json;
}

/** @throws RefusedRequest `too_large` over 1 MiB, `invalid_json` if the body is not UTF-8 */
export function readText(body: Uint8Array): string {
  if (body.byteLength > MAX_MESSAGE_BYTES) {
    throw new RefusedRequest('too_large', `the request body is over ${MAX_MESSAGE_BYTES} bytes`);
  }
  try {
    // Invalid bytes are not replaced, because published data must stay unchanged.
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch (error) {
    throw error instanceof TypeError ? notJson() : error;
  }
}

function notJson(): RefusedRequest {
  return new RefusedRequest('invalid_json', 'the request body is not JSON in UTF-8');
}

/** Like `readJson`, but an empty body counts as `{}`. */
export function readOptionalJson(body: Uint8Array): Json {
  return body.byteLength === 0 ? { source: '{}', value: {} } : readJson(body);
}

/** @throws RefusedRequest `invalid_request`, which names each invalid field by its path */
export function parseWith<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value, { error: plainMessage });
  if (result.success) return result.data;
  const faults = result.error.issues.flatMap(toFieldErrors);
  // Several checks of a field can have one rule.
  throw invalidFields([...new Map(faults.map((fault) => [JSON.stringify(fault), fault])).values()]);
}

const NAMES: Partial<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** Error messages for schemas that define none. */
const plainMessage: z.core.$ZodErrorMap = (issue) => {
  if (issue.code === 'invalid_type')
    return issue.input === undefined ? 'is required' : `must be ${NAMES[issue.expected] ?? issue.expected}`;
  if (issue.code === 'too_small' && issue.minimum === 1) return 'must not be empty';
  if (issue.code === 'too_big')
    return `must have at most ${issue.maximum} ${issue.origin === 'string' ? 'characters' : 'items'}`;
  return undefined;
};

function toFieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      field: fieldName([...issue.path, key]),
      message: 'is not a known field',
    }));
  }
  return [{ field: fieldName(issue.path), message: issue.message }];
}

/** `['messages', 0, 'ttl']` → `messages[0].ttl`; the whole body is `body`. */
function fieldName(path: readonly PropertyKey[]): string {
  return (
    path.reduce<string>(
      (name, step) =>
        typeof step === 'number' ? `${name}[${step}]` : `${name}${name && '.'}${String(step)}`,
      '',
    ) || 'body'
  );
}
