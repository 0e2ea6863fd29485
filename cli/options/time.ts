import { InvalidArgumentError } from 'commander';
import * as z from 'zod';

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

const duration = z
  .string()
  .regex(/^\d{1,6}[smhd]$/)
  .transform(
    (text) => Number(text.slice(0, -1)) * SECONDS[z.enum(['s', 'm', 'h', 'd']).parse(text.slice(-1))],
  );

export const TIME_FORMS = 'RFC 3339, or an age such as 90s, 30m, 1h, 2d';

/** Parses a time, or an age before now, to milliseconds since the epoch. */
export function timeOf(text: string): number {
  const seconds = duration.safeParse(text);
  if (seconds.success) return Date.now() - seconds.data * 1000;
  if (!z.iso.datetime({ offset: true }).safeParse(text).success) {
    throw new InvalidArgumentError(
      'Expected a time such as 2026-11-21T12:00:00Z, or an age such as 90s, 30m, 1h, 2d.',
    );
  }
  return Date.parse(text);
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

/** RFC 3339 in UTC with milliseconds, the format of the API. */
export function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
