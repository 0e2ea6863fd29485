import { inUnits } from '../../shared/domain/duration.ts';
import type { Terminal } from '../terminal.ts';
import { printable } from './printable.ts';

/** `not_json 2, none 1`, the most frequent first */
export function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${printable(name)} ${count}`)
    .join(', ');
}

/** A time of the API in the local time zone, to the second; empty for an invalid or missing time. */
export function clockTime(time: string | undefined): string {
  const at = time === undefined ? NaN : Date.parse(time);
  if (Number.isNaN(at)) return '';
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join('-');
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(':')}`;
}

/** A count with commas between thousands. */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** A number of seconds in units, such as 1 d 2 h 3 min 4 s. */
export function inWords(seconds: number): string {
  return inUnits(seconds).join(' ') || '0 s';
}

const COLOURS: ReadonlyMap<string, Parameters<Terminal['styled']>[0]> = new Map([
  ['delivered', 'green'],
  ['enabled', 'green'],
  ['pending', 'yellow'],
  ['retrying', 'yellow'],
  ['unconfirmed', 'yellow'],
  ['paused', 'yellow'],
  // Back-pressure: "circuit open", and the two others.
  ['circuit', 'yellow'],
  ['slowed', 'yellow'],
  ['throttled', 'yellow'],
  ['failing', 'red'],
  ['disabled', 'red'],
  ['rejected', 'red'],
  ['exhausted', 'red'],
  ['cancelled', 'gray'],
]);

/** The text of a status in the colour of its first word, on a terminal. */
export function colouredStatus(text: string, { styled }: Pick<Terminal, 'styled'>): string {
  const colour = COLOURS.get(text.split(' ', 1)[0] ?? '');
  return colour === undefined ? text : styled(colour, text);
}
