import * as z from 'zod';

/** Why the catalogue refuses a message. `path`: JSON Pointer in its data. `detail`: the rule; no value of the data. */
export const eventFaultSchema = z.object({
  reason: z.enum(['unknown_event_type', 'event_invalid']),
  path: z.string().exactOptional(),
  detail: z.string().exactOptional(),
});

export type EventFault = z.output<typeof eventFaultSchema>;

/** Names of properties in it may have any length and any character; records and attributes of SQS may not. */
const MAX_TEXT = 200;

export function invalidEvent(path: string, detail: string): EventFault {
  return { reason: 'event_invalid', path: toPrintable(path), detail: toPrintable(detail) };
}

function toPrintable(text: string): string {
  const short = text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  return short.replaceAll(/\p{C}/gu, '\u{fffd}');
}

/** The reason of the dead letter. */
export function toReason({
  reason,
  path = '',
}: EventFault): 'unknown_event_type' | `event_invalid:${string}` {
  return reason === 'event_invalid' ? `${reason}:${path}` : reason;
}

/** Whether a dead letter has a reason of `toReason`. */
export function isEventReason(reason: string): boolean {
  return reason === 'unknown_event_type' || reason.startsWith('event_invalid:');
}
