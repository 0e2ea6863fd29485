import * as z from 'zod';
import type { DataReference } from '../../domain/message/data-reference.ts';
import { MAX_TYPE_LENGTH } from '../../domain/message/message.ts';
import type { TraceContext } from '../../domain/message/trace-context.ts';

/** Content of a published message, independent of its envelope. */
export type IngressContent = {
  queue?: string;
  /** Present if the publisher set an id; `source`: set if the id is unique only together with it. */
  identity?: { id: string; source?: string };
  type?: string;
  /** RFC 3339 in UTC with milliseconds. */
  timestamp?: string;
  /** JSON source text, or a reference to it. */
  data: string | DataReference;
  /** Seconds. */
  ttl?: number;
  /** Seconds, 0 to 900. */
  delay?: number;
  trace?: TraceContext;
  /** Keys of `ingressRoutes` that may route this message, the most specific first. */
  routedBy: readonly string[];
};

/** Storable text: a lone surrogate cannot be encoded in UTF-8. */
export const text = z
  .string()
  .min(1)
  .refine((given) => given.isWellFormed());

export const typeText = text.max(MAX_TYPE_LENGTH);

/** An RFC 3339 time, normalised to UTC with milliseconds. */
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

/** Whether a parsed JSON value is an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
