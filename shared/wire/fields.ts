import * as z from 'zod';
import type { ZodError } from 'zod';

/** RFC 3339 in UTC with milliseconds, as everything that we show says its times. */
export const timeView = z.iso.datetime({ precision: 3 });

export function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** The field that a failed parse complains of first, as a dotted path; the whole value has no name and is `body`. */
export function firstField(error: ZodError): string {
  const path = error.issues[0]?.path ?? [];
  return path.length === 0 ? 'body' : path.map(String).join('.');
}
