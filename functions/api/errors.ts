import * as z from 'zod';
import { ContendedError } from '../../shared/domain/contention.ts';
import { DAY_MS } from '../../shared/domain/duration.ts';
import type { FieldError } from '../../shared/domain/errors.ts';
import { UnknownCredentialsError } from '../../shared/domain/subscription/credential-headers.ts';
import { InvalidMarkerError } from '../../shared/ports/page.ts';
import {
  QueueBeingDeletedError,
  QueueFullError,
  QueueMissingError,
} from '../../shared/ports/subscriptions.ts';

/** Codes of refusals, with their statuses. */
export const statusOfCode = {
  invalid_request: 400,
  invalid_json: 400,
  invalid_retry_policy: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  inactive: 409,
  too_large: 413,
  too_many_requests: 429,
  internal: 500,
} as const;

type ErrorCode = keyof typeof statusOfCode;

/** The error response to a request that the API refuses. */
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

/** The number of invalid fields that one response lists. */
const MAX_FAULTS = 20;
/** In characters. A field's name and its message can both contain text from the caller. */
const MAX_TEXT = 256;

/** A refusal of bounded size. Its message counts the invalid fields that it does not list. */
export function refusedFields(code: ErrorCode, faults: readonly FieldError[]): RefusedRequest {
  const named = faults.slice(0, MAX_FAULTS).map(({ field, message }) => ({
    field: shown(field),
    message: shown(message),
  }));
  const texts = named.map(({ field, message }) => `${field}: ${message}`);
  const more = faults.length - named.length;
  return new RefusedRequest(code, [...texts, ...(more > 0 ? [`and ${more} more`] : [])].join('; '), named);
}

/** Characters that control a terminal, break a line or hide text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Text of the caller, bounded and printable. Does not split a surrogate pair. */
function shown(text: string): string {
  const short =
    text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
  return short.replace(UNPRINTABLE, '\uFFFD');
}

export function notFound(what: string): RefusedRequest {
  return new RefusedRequest('not_found', `there is no ${what}`);
}

/** Says where a message without a record may be, which the API does not look up. */
export function noSuchMessage({ retentionMs }: { retentionMs: number }): RefusedRequest {
  const days = Math.round(retentionMs / DAY_MS);
  return notFound(
    'such message: it was never accepted, still waits in the ingress queue, is among the dead letters, ' +
      `or is older than the retention of ${days} days, or that of its queue`,
  );
}

/** The body of every error (docs/api.md#errors). */
export const errorSchema = z.object({
  error: z.object({
    code: z.enum(Object.keys(statusOfCode)),
    message: z.string(),
    fields: z.array(z.object({ field: z.string(), message: z.string() })).exactOptional(),
  }),
});

/** The body of responses that API Gateway sends without calling the function. */
export const gatewayErrorSchema = z.object({ message: z.string() });

export function errorBody({ code, message, fields }: RefusedRequest): z.infer<typeof errorSchema> {
  return {
    error: { code, message, ...(fields.length > 0 && { fields: [...fields] }) },
  };
}

export function internalError(requestId: string): RefusedRequest {
  return new RefusedRequest('internal', `internal error; find the log entry by request id ${requestId}`);
}

/** The refusal where the queue already has this subscriber. */
export function subscriberTaken(subscriptionId: string): RefusedRequest {
  return new RefusedRequest(
    'conflict',
    `the queue already has this subscriber: subscription ${subscriptionId}`,
    [{ field: 'subscriber', message: 'is already on this queue' }],
  );
}

/** The refusal for an error that the request caused; undefined for an internal error. */
export function toRefusal(error: unknown): RefusedRequest | undefined {
  if (error instanceof RefusedRequest) return error;
  if (error instanceof InvalidMarkerError) {
    return invalidFields([{ field: 'marker', message: 'is not from this listing' }]);
  }
  const conflict = findConflict(error);
  if (conflict !== undefined) return new RefusedRequest('conflict', conflict);
  if (error instanceof UnknownCredentialsError) {
    return invalidFields(
      error.options.map((option) => ({
        field: `options.${option}`,
        message: `is redacted, and no stored value exists: send the value`,
      })),
    );
  }
  return undefined;
}

function findConflict(error: unknown): string | undefined {
  if (error instanceof QueueMissingError) return 'the queue was deleted during this request';
  if (error instanceof QueueFullError)
    return `there can be at most ${error.most} endpoint${error.most === 1 ? '' : 's'}`;
  if (error instanceof QueueBeingDeletedError)
    return 'a queue of this name is still being deleted or restored; try again in a minute';
  if (error instanceof ContendedError) return 'other requests kept changing this record; try again';
  return undefined;
}
