import * as z from 'zod';
import type { UnreadableReason } from '../domain/message/vocabulary.ts';

/** RFC 3339 in UTC with milliseconds: the form of all displayed times. */
export const timeView = z.iso.datetime({ precision: 3 });

export function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** What a text of another program contains, or why it cannot be read. */
export type Reading<Value> = { ok: true; value: Value } | { ok: false; reason: UnreadableReason };

export function unreadable(reason: UnreadableReason) {
  return { ok: false, reason } as const;
}

/** If the value does not match, the reason names its first invalid field. */
export function readWith<Value>(schema: z.ZodType<Value>, value: unknown): Reading<Value> {
  const parsed = schema.safeParse(value);
  return parsed.success
    ? { ok: true, value: parsed.data }
    : unreadable(`invalid_field:${firstField(parsed.error)}`);
}

/** The first invalid field of a failed parse as a dotted path; `body` for the whole value. */
export function firstField(error: z.ZodError): string {
  const path = error.issues[0]?.path ?? [];
  return path.length === 0 ? 'body' : path.map(String).join('.');
}
