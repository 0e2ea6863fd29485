import * as z from 'zod';
import { RESERVED_HEADERS } from '../../../shared/domain/delivery/webhook-request.ts';
import { withoutProto } from '../fields.ts';

const MAX_POST_HEADERS = 50;
/** The limit of common HTTP servers for request headers, in bytes. Posthaste adds further headers. */
const MAX_POST_HEADERS_BYTES = 8192;

/** A token (RFC 9110 §5.6.2). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Printable ASCII and tab: servers read other bytes differently (RFC 9110 §5.5). */
export const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

/** Completes a sentence that begins with the name. */
export function headerNameFault(name: string): string | undefined {
  if (!HEADER_NAME.test(name)) return 'is not a valid header name';
  return RESERVED_HEADERS.has(name.toLowerCase()) ? 'is a reserved header' : undefined;
}

/** The headers of every request to a subscriber. */
export const postHeaderRecord = z
  .record(z.string(), z.string().regex(HEADER_VALUE, 'must be printable ASCII'))
  .superRefine((headers, refinement) => {
    const seen = new Set<string>();
    for (const name of Object.keys(headers)) {
      const fault = headerNameFault(name) ?? (seen.has(name.toLowerCase()) ? 'is given twice' : undefined);
      if (fault !== undefined) refinement.addIssue({ code: 'custom', path: [name], message: fault });
      seen.add(name.toLowerCase());
    }
  })
  .refine(
    (headers) => Object.keys(headers).length <= MAX_POST_HEADERS,
    `must be at most ${MAX_POST_HEADERS} headers`,
  )
  .refine(
    (headers) => Object.entries(headers).flat().join('').length <= MAX_POST_HEADERS_BYTES,
    `must be at most ${MAX_POST_HEADERS_BYTES} bytes in all`,
  )
  .meta({ maxProperties: MAX_POST_HEADERS, propertyNames: { pattern: HEADER_NAME.source } });

export const postHeaders = withoutProto(postHeaderRecord);
