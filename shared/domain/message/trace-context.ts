import * as z from 'zod';

/** As it is stored: `parseTraceContext` has checked it. */
export const traceContextSchema = z.object({
  traceparent: z.string(),
  tracestate: z.string().exactOptional(),
});

/** The trace that a message belongs to (W3C Trace Context), as the two headers of a request. */
export type TraceContext = z.output<typeof traceContextSchema>;

/** Attributes of a message, and headers of a request. */
export const TRACE_FIELDS = ['traceparent', 'tracestate'] as const;

/** Version, trace, parent and flags (§3.2). Version ff is invalid; later ones may continue after a hyphen. */
const PARENT =
  /^(?<version>(?!ff)[0-9a-f]{2})-(?<trace>(?!0{32})[0-9a-f]{32})-(?<span>(?!0{16})[0-9a-f]{16})-(?<flags>[0-9a-f]{2})(?<later>-[\x21-\x7e]*)?$/;

/** One entry of `tracestate` (§3.3.1.3): key, and value without commas and equals signs. */
const ENTRY =
  /^(?<key>[a-z0-9][a-z0-9_*/@-]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Only blanks and tabs may surround entries: a header can contain no other white space. */
const SEPARATOR = /[ \t]*,[ \t]*/;

/** Of `tracestate` (§3.3.1.1 and §3.3.1.5). */
const MAX_ENTRIES = 32;
const MAX_STATE_LENGTH = 512;

/** Flags that version 00 defines: whether the trace is sampled. */
const SAMPLED = 0x01;

/**
 * The trace of a message; undefined without a valid `traceparent`. An invalid `tracestate` is dropped alone. A later
 * version is passed on as version 00, as §3.2 demands of those who do not know it.
 */
export function parseTraceContext(given: {
  traceparent?: unknown;
  tracestate?: unknown;
}): TraceContext | undefined {
  const traceparent = parseTraceparent(given.traceparent);
  if (traceparent === undefined) return undefined;
  const { tracestate } = given;
  return { traceparent, ...(isState(tracestate) ? { tracestate } : {}) };
}

function parseTraceparent(given: unknown): string | undefined {
  const groups = typeof given === 'string' ? PARENT.exec(given)?.groups : undefined;
  if (groups === undefined) return undefined;
  const { version, trace, span, flags, later } = groups;
  if (version === '00') return later === undefined ? `00-${trace}-${span}-${flags}` : undefined;
  return `00-${trace}-${span}-0${parseInt(String(flags), 16) & SAMPLED}`;
}

function isState(given: unknown): given is string {
  if (typeof given !== 'string' || given.length > MAX_STATE_LENGTH) return false;
  const keys = given.split(SEPARATOR).map((entry) => ENTRY.exec(entry)?.groups?.['key']);
  return keys.length <= MAX_ENTRIES && !keys.includes(undefined) && new Set(keys).size === keys.length;
}
