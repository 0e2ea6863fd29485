import * as z from 'zod';
import type { UnreadableReason } from '../../domain/vocabulary.ts';
import type { DataReference } from '../../domain/message/data-reference.ts';

/** What a publisher said, whatever the envelope. */
export type IngressContent = {
  queue?: string;
  /** Present where the publisher named the message; with `source` where the name is unique only together with it. */
  identity?: { id: string; source?: string };
  type?: string;
  /** RFC 3339 in UTC with milliseconds. */
  timestamp?: string;
  /** JSON source text, or where it lies. */
  data: string | DataReference;
  /** Seconds. */
  ttl?: number;
  /** Seconds, 0 to 900. */
  delay?: number;
  /** Keys of `ingressRoutes` that this message may be routed by, the most specific first. */
  routedBy: readonly string[];
};

export type ReadContent = { ok: true; content: IngressContent } | { ok: false; reason: UnreadableReason };

/** Text that can be kept: half a character (a lone surrogate) cannot be written in UTF-8. */
export const text = z
  .string()
  .min(1)
  .refine((given) => given.isWellFormed());

/** A message's type: of any vocabulary, but short, since it is kept on every record of the message. */
export const typeText = text.max(256);

/** An RFC 3339 time, given back in UTC with milliseconds. */
export const eventTime = z
  .string()
  .toUpperCase()
  .pipe(z.iso.datetime({ offset: true }))
  .transform((text, context) => {
    const time = new Date(text);
    if (!Number.isNaN(time.getTime())) return time.toISOString();
    context.addIssue({ code: 'custom', message: 'no such time' });
    return z.NEVER;
  });

/** A JSON object, as JSON.parse gives it. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
