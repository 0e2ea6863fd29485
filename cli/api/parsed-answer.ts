import * as z from 'zod';
import { firstField } from '../../shared/wire/fields.ts';
import type { ApiAnswer, ApiRequest } from './api-request.ts';

/** An answer, but not one that is known here. */
export class UnknownAnswer extends Error {
  override readonly name = 'UnknownAnswer';
  /** The one that was read first and was not understood. */
  readonly field: string;

  constructor({ method, path }: Pick<ApiRequest, 'method' | 'path'>, field: string) {
    super(
      `The answer to ${method} ${path} is not what this version of the command knows (${field}). ` +
        'Are the deployment and the command of the same version?',
    );
    this.field = field;
  }
}

/** The answer's JSON as the schema reads it. @throws UnknownAnswer when it is something else */
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
