import { calendarTimeOf, windowAround } from '../../../../api-client/calendar-time.ts';

/** Milliseconds since the epoch. */
export type SoughtTime = { since: number; until: number };

const CLOCK = /^\d{1,2}:\d{2}(?::\d{2})?$/;

/**
 * The window around a time that the user typed: `14:03` (today, or yesterday if it is still to come),
 * `2026-11-21 14:03`, RFC 3339, or a whole day. Without a zone it is in the browser's. Undefined for other text.
 */
export function soughtTime(text: string, now: number): SoughtTime | undefined {
  const at = clockTime(text, now);
  const time = at === undefined ? calendarTimeOf(text) : { at, isDay: false };
  return time && windowAround(time);
}

function clockTime(text: string, now: number): number | undefined {
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number);
  if (!CLOCK.test(text) || hours > 23 || minutes > 59) return undefined;
  const time = new Date(now).setHours(hours, minutes, seconds, 0);
  return time <= now ? time : new Date(time).setDate(new Date(time).getDate() - 1);
}
