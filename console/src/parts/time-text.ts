import { DAY_MS, inUnits } from '../../../shared/domain/duration.ts';

/** The time of day in the browser's zone, with the date unless it is today. `exact`: with milliseconds. */
export function clockText(time: number, { now, exact }: { now: number; exact: boolean }): string {
  const format = (options: Intl.DateTimeFormatOptions, at: number): string =>
    new Intl.DateTimeFormat('en-GB', options).format(at);
  const clock = format(
    { hour: '2-digit', minute: '2-digit', second: '2-digit', ...(exact && { fractionalSecondDigits: 3 }) },
    time,
  );
  const day = (at: number): string => format({ day: 'numeric', month: 'short', year: 'numeric' }, at);
  if (day(time) === day(now)) return clock;
  const isNear = Math.abs(now - time) < 300 * DAY_MS;
  return `${isNear ? format({ day: 'numeric', month: 'short' }, time) : day(time)}, ${clock}`;
}

/** An RFC 3339 time within a text, as `Moment` shows it elsewhere. */
export function momentText(at: string): string {
  return clockText(Date.parse(at), { now: Date.now(), exact: false });
}

/** 2026-11-21 12:00:00.000 UTC */
export function utcText(at: string): string {
  const time = new Date(at);
  return Number.isNaN(time.getTime()) ? at : `${time.toISOString().replace('T', ' ').replace('Z', '')} UTC`;
}

/** A duration in the two largest units: `2 h 5 min`, `3.5 s`, `48 ms`. */
export function durationText(milliseconds: number): string {
  if (milliseconds === 0) return '0 s';
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 59_950) return `${Number((milliseconds / 1000).toFixed(1))} s`;
  return inUnits(milliseconds / 1000)
    .slice(0, 2)
    .join(' ');
}

/** `3.5 s ago`, `in 2 min`. */
export function relativeText(time: number, now: number): string {
  const distance = Math.abs(time - now);
  if (distance < 1000) return 'now';
  const text = durationText(distance < 60_000 ? Math.round(distance / 1000) * 1000 : distance);
  return time > now ? `in ${text}` : `${text} ago`;
}

/** The value of a `datetime-local` input: `2026-11-21T12:00`. */
export function localInput(time: number): string {
  const shifted = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** The label of an axis: the time to the minute or the second, with the date unless it is today. */
export function axisTime(time: number, { now, seconds }: { now: number; seconds: boolean }): string {
  const text = clockText(time, { now, exact: false });
  return seconds ? text : text.replace(/:\d\d$/, '');
}
