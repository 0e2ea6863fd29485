import * as z from 'zod';
import type { FieldError } from '../shared/domain/errors.ts';
import { jsonOrUndefined } from '../shared/domain/json.ts';

/** An error of the API (docs/api.md#errors). */
export const refusalSchema = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    fields: z.array(z.object({ field: z.string(), message: z.string() })).exactOptional(),
  }),
});

/** An error of the API, or of API Gateway. */
const errorBody = z.union([refusalSchema, z.object({ message: z.string() })]);

/**
 * Whether a response answers the request. API Gateway, and the console without a deployment, also use the `accept`
 * status for refusals: only the body distinguishes the two.
 */
export function isAnswer(
  { accept }: { accept?: number },
  { status, text }: { status: number; text: string },
): boolean {
  if (status >= 200 && status < 300) return true;
  const body = status === accept ? jsonOrUndefined(text) : undefined;
  return body !== undefined && !errorBody.safeParse(body).success;
}

/** The API, or API Gateway in front of it, refused the request. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal';
  readonly request: string;
  readonly status: number;
  /** Error code of the API; API Gateway sends none. */
  readonly code: string | undefined;
  readonly fields: readonly FieldError[];

  constructor(request: string, status: number, text: string) {
    const details = parseRefusal(text);
    super(details.message);
    this.request = request;
    this.status = status;
    this.code = details.code;
    this.fields = details.fields;
  }
}

/** Whether the API found nothing at the requested path. */
export function isNotFound(failure: unknown): failure is ApiRefusal {
  return failure instanceof ApiRefusal && failure.code === 'not_found';
}

/** Whether the caller may not do this. */
export function isForbidden(failure: unknown): failure is ApiRefusal {
  return failure instanceof ApiRefusal && failure.status === 403;
}

export function isRefusal(failure: unknown): failure is ApiRefusal {
  return failure instanceof ApiRefusal;
}

/** For `catch`: the value in place of an expected failure. Throws all others again. */
export function orElse<Value>(
  isExpected: (failure: unknown) => boolean,
  value: Value,
): (failure: unknown) => Value {
  return (failure) => {
    if (isExpected(failure)) return value;
    throw failure;
  };
}

type RefusalDetails = { message: string; code?: string; fields: readonly FieldError[] };

function parseRefusal(text: string): RefusalDetails {
  const parsed = errorBody.safeParse(jsonOrUndefined(text));
  if (!parsed.success) return { message: text.slice(0, 200), fields: [] };
  return { fields: [], ...('error' in parsed.data ? parsed.data.error : parsed.data) };
}

/** The response does not match the schema that this version knows. */
export class UnknownAnswer extends Error {
  override readonly name = 'UnknownAnswer';
  /** The first field that does not match. */
  readonly field: string;

  constructor({ method, path }: { method: string; path: string }, field: string) {
    super(
      `The response to ${method} ${path} has an unexpected form (${field}). ` +
        'Check that the command and the deployment have the same version.',
    );
    this.field = field;
  }
}

/** What the user can do about a request that API Gateway denied; undefined for other refusals. */
export function adviceFor({ status, code }: ApiRefusal): string | undefined {
  if (code !== undefined) return undefined;
  if (status === 403)
    return 'Your credentials lack the permission execute-api:Invoke on this route of the API (docs/api.md).';
  if (status === 401) return 'The API requires a token: set POSTHASTE_TOKEN to one from its issuer.';
  return undefined;
}
