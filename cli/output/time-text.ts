import { inUnits } from '../../shared/domain/duration.ts';

/** A time of the API in the local time zone, to the second; empty for an invalid or missing time. */
export function clockTime(time: string | undefined): string {
  const at = time === undefined ? NaN : Date.parse(time);
  if (Number.isNaN(at)) return '';
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
}

/** A number of seconds in units, such as 1 d 2 h 3 min 4 s. */
export function inWords(seconds: number): string {
  return inUnits(seconds).join(' ') || '0 s';
}
