import * as z from 'zod';
import { firstField } from '../../shared/wire/fields.ts';
import type { ApiAnswer, ApiClient, ApiRequest } from './api-request.ts';

/** The response does not match the schema that this version knows. */
export class UnknownAnswer extends Error {
  override readonly name = 'UnknownAnswer';
  /** The first field that does not match. */
  readonly field: string;

  constructor({ method, path }: Pick<ApiRequest, 'method' | 'path'>, field: string) {
    super(
      `The response to ${method} ${path} has an unexpected form (${field}). ` +
        'Check that the command and the deployment have the same version.',
    );
    this.field = field;
  }
}

/** The response's JSON, parsed by the schema. @throws UnknownAnswer if it does not match */
export function parsedAnswer<Answer>(
  { text }: Pick<ApiAnswer, 'text'>,
  request: Pick<ApiRequest, 'method' | 'path'>,
  schema: z.ZodType<Answer>,
): Answer {
  const parsed = z
    .string()
    .transform((source, context): unknown => {
      try {
        return JSON.parse(source);
      } catch {
        context.addIssue('is not JSON');
        return z.NEVER;
      }
    })
    .pipe(schema)
    .safeParse(text);
  if (parsed.success) return parsed.data;
  throw new UnknownAnswer(request, firstField(parsed.error));
}

/** The method `call` of a client that sends requests so. */
export function callBy(send: ApiClient['send']): ApiClient['call'] {
  return async (request, schema) => parsedAnswer(await send(request), request, schema);
}
