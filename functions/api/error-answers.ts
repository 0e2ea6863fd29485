import type { FieldError } from '../../shared/domain/errors.ts';

const statusOfCode = {
  invalid_request: 400,
  invalid_json: 400,
  invalid_retry_policy: 400,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  internal: 500,
} as const;

type ErrorCode = keyof typeof statusOfCode;

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
export const errorAnswer = (refused: RefusedRequest, headers: Record<string, string> = {}): Response =>
  Response.json(
    {
      error: {
        code: refused.code,
        message: refused.message,
        ...(refused.fields.length > 0 && { fields: refused.fields }),
      },
    },
    { status: statusOfCode[refused.code], headers },
  );
