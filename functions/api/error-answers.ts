import * as z from 'zod';
import type { FieldError } from '../../shared/domain/errors.ts';

const ERROR_CODES = [
  'invalid_request',
  'invalid_json',
  'invalid_retry_policy',
  'not_found',
  'method_not_allowed',
  'conflict',
  'too_large',
  'internal',
] as const;

type ErrorCode = (typeof ERROR_CODES)[number];

const statusOfCode = {
  invalid_request: 400,
  invalid_json: 400,
  invalid_retry_policy: 400,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  internal: 500,
} as const satisfies Record<ErrorCode, number>;

/** A request that gets an error for its answer. Thrown anywhere on the way of a request, before anything is written. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';
  readonly code: ErrorCode;
  /** Each with its path: `messages[0].ttl`, `options._retry_policy.minimum_delay`. */
  readonly fields: readonly FieldError[];

  constructor(code: ErrorCode, message: string, fields: readonly FieldError[] = []) {
    super(message);
    this.code = code;
    this.fields = fields;
  }
}

export const invalidFields = (fields: readonly FieldError[]): RefusedRequest =>
  new RefusedRequest(
    'invalid_request',
    fields.map(({ field, message }) => `${field}: ${message}`).join('; '),
    fields,
  );

export const notFound = (what: string): RefusedRequest =>
  new RefusedRequest('not_found', `there is no ${what}`);

/** The one shape of every error (design §7). */
export const errorSchema = z.object({
  error: z.object({
    code: z.enum(ERROR_CODES),
    message: z.string(),
    fields: z.array(z.object({ field: z.string(), message: z.string() })).exactOptional(),
  }),
});

export const errorBody = ({ code, message, fields }: RefusedRequest): z.infer<typeof errorSchema> => ({
  error: { code, message, ...(fields.length > 0 && { fields: [...fields] }) },
});

export const errorAnswer = (refused: RefusedRequest, headers: Record<string, string> = {}): Response =>
  Response.json(errorBody(refused), { status: statusOfCode[refused.code], headers });
