import * as z from 'zod';

const CALENDAR_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/;

/** `isDay`: a date alone, which starts at its midnight. `at`: milliseconds since the epoch. */
export type CalendarTime = { at: number; isDay: boolean };

/**
 * A date, with or without a time and a zone, in milliseconds since the epoch; undefined for other texts. Without a zone
 * it is local, as the command and the console show times.
 */
export function parseCalendarTime(text: string): CalendarTime | undefined {
  const [, day, clock, zone = ''] = CALENDAR_TIME.exec(text) ?? [];
  if (!z.iso.date().safeParse(day).success) return undefined;
  const at = Date.parse(`${day}T${clock ?? '00:00'}${zone}`);
  return Number.isNaN(at) ? undefined : { at, isDay: clock === undefined };
}

/** The same, and a time without a day, such as 10:00: of the local day of `now` (milliseconds since the epoch). */
export function parseTimeOfDay(text: string, now: number): CalendarTime | undefined {
  return parseCalendarTime(isTimeOfDay(text) ? `${localDay(new Date(now))} ${text}` : text);
}

/** The same, but a time without a day is the last one: that of yesterday where today's is still to come. */
export function parseLastTime(text: string, now: number): CalendarTime | undefined {
  const time = parseTimeOfDay(text, now);
  if (time === undefined || time.at <= now || !isTimeOfDay(text)) return time;
  const yesterday = new Date(now);
  yesterday.setDate(yesterday.getDate() - 1);
  return parseCalendarTime(`${localDay(yesterday)} ${text}`);
}

function isTimeOfDay(text: string): boolean {
  return /^\d\d:\d\d(:\d\d)?$/.test(text);
}

function localDay(day: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

const AROUND_MS = 5 * 60_000;

/** What a search for a time looks through: the day, or five minutes before and after. Milliseconds since the epoch. */
export function windowAround({ at, isDay }: CalendarTime): { since: number; until: number } {
  return isDay ? { since: at, until: nextDay(at) } : { since: at - AROUND_MS, until: at + AROUND_MS };
}

/** The same local time on the next day, which may be 23 or 25 hours later. */
function nextDay(at: number): number {
  const date = new Date(at);
  return date.setDate(date.getDate() + 1);
}
