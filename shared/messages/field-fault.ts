import type { ZodError } from 'zod';

/** The field that a failed parse complains of first, as a dotted path; the whole value has no name and is `body`. */
export const firstField = (error: ZodError): string => {
  const path = error.issues[0]?.path ?? [];
  return path.length === 0 ? 'body' : path.map(String).join('.');
};
