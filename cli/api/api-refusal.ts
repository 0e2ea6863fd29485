import * as z from 'zod';
import type { FieldError } from '../../shared/domain/errors.ts';
import type { ApiAnswer, ApiRequest } from './api-request.ts';

/** Ours has the first form (docs/api.md#errors); API Gateway's own answers have the second. */
const errorBody = z.union([
  z.object({
    error: z.object({
      code: z.string(),
      message: z.string(),
      fields: z.array(z.object({ field: z.string(), message: z.string() })).default([]),
    }),
  }),
  z.object({ message: z.string() }),
]);

/**
 * Whether it is what was asked for. With the status that is accepted, refusals come, too: of API Gateway, and of the console
 * where there is no deployment. Their body tells.
 */
export function isAnswer(
  { accept }: Pick<ApiRequest, 'accept'>,
  { status, text }: Pick<ApiAnswer, 'status' | 'text'>,
): boolean {
  if (status >= 200 && status < 300) return true;
  const body = status === accept ? jsonOrUndefined(text) : undefined;
  return body !== undefined && !errorBody.safeParse(body).success;
}

/** The API answered, but not with what was asked for. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal';
  readonly request: string;
  readonly status: number;
  /** Of our API; those of API Gateway have none. */
  readonly code: string | undefined;
  readonly fields: readonly FieldError[];

  constructor(request: string, status: number, text: string) {
    const said = refusalOf(text);
    super(said.message);
    this.request = request;
    this.status = status;
    this.code = said.code;
    this.fields = said.fields;
  }
}

type Said = { message: string; code?: string; fields: readonly FieldError[] };

function refusalOf(text: string): Said {
  const parsed = errorBody.safeParse(jsonOrUndefined(text));
  if (!parsed.success) return { message: text.slice(0, 200), fields: [] };
  return 'error' in parsed.data ? parsed.data.error : { message: parsed.data.message, fields: [] };
}

/** What somebody can do about it whom the API, or API Gateway in front of it, does not let in. */
export function adviceFor({ status, code }: ApiRefusal): string | undefined {
  if (code !== undefined) return undefined;
  if (status === 403)
    return 'Your credentials may not call this: they need execute-api:Invoke on the API (docs/api.md).';
  if (status === 401)
    return 'The API wants a token: set POSTHASTE_TOKEN to one that its issuer has given you.';
  return undefined;
}

/** Undefined: the text is not JSON. */
export function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
