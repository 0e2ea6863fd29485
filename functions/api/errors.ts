import * as z from 'zod';
import { ContendedError } from '../../shared/domain/contention.ts';
import type { FieldError } from '../../shared/domain/errors.ts';
import { UnknownCredentialsError } from '../../shared/domain/subscription/credential-headers.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import { QueueBeingDeletedError, QueueMissingError } from '../../shared/ports/subscriptions.ts';

const ERROR_CODES = [
  'invalid_request',
  'invalid_json',
  'invalid_retry_policy',
  'forbidden',
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
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  internal: 500,
} as const satisfies Record<ErrorCode, number>;

/** A request that is answered with an error. Thrown before anything is written. */
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

export function invalidFields(faults: readonly FieldError[]): RefusedRequest {
  return refusedFields('invalid_request', faults);
}

/** Faults that one answer names. */
const MAX_FAULTS = 20;
/** In characters, of a field's name and of its message: both may hold text of the caller. */
const MAX_TEXT = 256;

/** A refusal of bounded size. Its message counts the faults that it does not name. */
export function refusedFields(code: ErrorCode, faults: readonly FieldError[]): RefusedRequest {
  const named = faults.slice(0, MAX_FAULTS).map(({ field, message }) => ({
    field: truncate(field),
    message: truncate(message),
  }));
  const texts = named.map(({ field, message }) => `${field}: ${message}`);
  const more = faults.length - named.length;
  return new RefusedRequest(code, [...texts, ...(more > 0 ? [`and ${more} more`] : [])].join('; '), named);
}

/** Does not split a surrogate pair. */
function truncate(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

export function notFound(what: string): RefusedRequest {
  return new RefusedRequest('not_found', `there is no ${what}`);
}

/** The body of every error (docs/api.md#errors). */
export const errorSchema = z.object({
  error: z.object({
    code: z.enum(ERROR_CODES),
    message: z.string(),
    fields: z.array(z.object({ field: z.string(), message: z.string() })).exactOptional(),
  }),
});

/** The body of what API Gateway itself answers, before or in place of the function. */
export const gatewayErrorSchema = z.object({ message: z.string() });

export function errorBody({ code, message, fields }: RefusedRequest): z.infer<typeof errorSchema> {
  return {
    error: { code, message, ...(fields.length > 0 && { fields: [...fields] }) },
  };
}

export function errorAnswer(refused: RefusedRequest, headers: Record<string, string> = {}): Response {
  return Response.json(errorBody(refused), { status: statusOfCode[refused.code], headers });
}

export function ourFault(requestId: string): RefusedRequest {
  return new RefusedRequest('internal', `our fault; it is in the log as request ${requestId}`);
}

/** A queue has each subscriber once. */
export function subscriberTaken(subscriptionId: string): RefusedRequest {
  return new RefusedRequest('conflict', `the queue has this subscriber: subscription ${subscriptionId}`, [
    { field: 'subscriber', message: 'is on this queue already' },
  ]);
}

/** The refusal for an error that is not our fault; undefined for one that is. */
export function refusalOf(error: unknown): RefusedRequest | undefined {
  if (error instanceof RefusedRequest) return error;
  if (error instanceof InvalidMarkerError) {
    return invalidFields([{ field: 'marker', message: 'is not from this listing' }]);
  }
  if (error instanceof QueueMissingError) {
    return new RefusedRequest('conflict', 'the queue was deleted meanwhile');
  }
  if (error instanceof QueueBeingDeletedError) {
    return new RefusedRequest(
      'conflict',
      'the queue of this name is still being deleted; ask again in a minute',
    );
  }
  if (error instanceof ContendedError) {
    return new RefusedRequest('conflict', 'it kept being changed by others meanwhile; ask again');
  }
  if (error instanceof UnknownCredentialsError) {
    return invalidFields(
      error.headers.map((header) => ({
        field: `options.post_headers.${header}`,
        message: `is redacted, and there is no value to keep: give the value`,
      })),
    );
  }
  return undefined;
}
