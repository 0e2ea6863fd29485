import { InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { calendarTimeOf } from '../../api-client/calendar-time.ts';

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

const duration = z
  .string()
  .regex(/^\d{1,6}[smhd]$/)
  .transform(
    (text) => Number(text.slice(0, -1)) * SECONDS[z.enum(['s', 'm', 'h', 'd']).parse(text.slice(-1))],
  );

export const TIME_FORMS =
  'a time such as 2026-11-21 14:00 (local, or with a zone), or an age such as 90s, 1h, 2d';

/** Seconds of an age such as 90s, 30m, 1h, 2d; undefined for other texts. */
export function ageOf(text: string): number | undefined {
  return duration.safeParse(text).data;
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
