/** Milliseconds since the epoch. */
export type SoughtTime = { since: number; until: number };

const AROUND_MS = 5 * 60_000;
const CLOCK = /^\d{1,2}:\d{2}(?::\d{2})?$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_AND_CLOCK = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)$/;

/**
 * The window around a time that the user typed: `14:03` (today, or yesterday if it is still to come),
 * `2026-11-21 14:03`, RFC 3339, or a whole day. Without a zone it is in the browser's. Undefined for other text.
 */
export function soughtTime(text: string, now: number): SoughtTime | undefined {
  if (DATE.test(text)) return dayOf(text);
  const time = clockTime(text, now) ?? Date.parse(text.replace(DATE_AND_CLOCK, '$1T$2'));
  const isTime = CLOCK.test(text) || DATE_AND_CLOCK.test(text);
  return !isTime || Number.isNaN(time) ? undefined : { since: time - AROUND_MS, until: time + AROUND_MS };
}

function dayOf(text: string): SoughtTime | undefined {
  const day = new Date(`${text}T00:00`);
  if (Number.isNaN(day.getTime())) return undefined;
  return { since: day.getTime(), until: new Date(day).setDate(day.getDate() + 1) };
}

function clockTime(text: string, now: number): number | undefined {
  if (!CLOCK.test(text)) return undefined;
  const [hours = 0, minutes = 0, seconds = 0] = text.split(':').map(Number);
  if (hours > 23 || minutes > 59) return Number.NaN;
  const time = new Date(now).setHours(hours, minutes, seconds, 0);
  return time <= now ? time : new Date(time).setDate(new Date(time).getDate() - 1);
}
