import * as z from 'zod';
import type { ZodError } from 'zod';

/** RFC 3339 in UTC with milliseconds: the form of all displayed times. */
export const timeView = z.iso.datetime({ precision: 3 });

export function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** The first invalid field of a failed parse as a dotted path; `body` for the whole value. */
export function firstField(error: ZodError): string {
  const path = error.issues[0]?.path ?? [];
  return path.length === 0 ? 'body' : path.map(String).join('.');
}
