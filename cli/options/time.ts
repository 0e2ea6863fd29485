import { InvalidArgumentError } from 'commander';
import * as z from 'zod';

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

const duration = z
  .string()
  .regex(/^\d{1,6}[smhd]$/)
  .transform(
    (text) => Number(text.slice(0, -1)) * SECONDS[z.enum(['s', 'm', 'h', 'd']).parse(text.slice(-1))],
  );

export const TIME_FORMS =
  'a time such as 2026-11-21 14:00 (local, or with a zone), or an age such as 90s, 1h, 2d';

const CALENDAR_TIME = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/;

/** Seconds of an age such as 90s, 30m, 1h, 2d; undefined for other texts. */
export function ageOf(text: string): number | undefined {
  return duration.safeParse(text).data;
}

/**
 * A date, with or without a time and a zone, in milliseconds since the epoch; undefined for other texts. Without a zone
 * it is local, as the command prints times. `isDay`: a date alone, which starts at its midnight.
 */
export function calendarTimeOf(text: string): { at: number; isDay: boolean } | undefined {
  const [, day, clock, zone = ''] = CALENDAR_TIME.exec(text) ?? [];
  if (!z.iso.date().safeParse(day).success) return undefined;
  const at = Date.parse(`${day}T${clock ?? '00:00'}${zone}`);
  return Number.isNaN(at) ? undefined : { at, isDay: clock === undefined };
}

/** Parses a time, or an age before now, to milliseconds since the epoch. */
export function timeOf(text: string): number {
  const seconds = ageOf(text);
  const at = seconds === undefined ? calendarTimeOf(text)?.at : Date.now() - seconds * 1000;
  if (at !== undefined) return at;
  throw new InvalidArgumentError(
    'Expected a time such as 2026-11-21 14:00, 2026-11-21T12:00:00Z or 2026-11-21, or an age such as 90s, 30m, 1h, 2d.',
  );
}

/** The same as `timeOf`, but refuses a time in the future. */
export function pastTimeOf(text: string): number {
  const at = timeOf(text);
  if (at > Date.now()) throw new InvalidArgumentError('The time must not be in the future.');
  return at;
}

/** Parses a duration such as `90`, `90s`, `30m`, `1h` or `2d` to seconds. */
export function durationOf(text: string): number {
  if (/^\d{1,9}(\.\d{1,3})?$/.test(text)) return Number(text);
  const seconds = duration.safeParse(text);
  if (!seconds.success)
    throw new InvalidArgumentError('Expected seconds, or a duration such as 90s, 30m, 1h, 2d.');
  return seconds.data;
}
