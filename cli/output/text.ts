import type { Deletion } from '../../api-client/archives.ts';
import { requestsEndText } from '../../api-client/words.ts';
import { commandText } from '../../local/command-name.ts';
import { inUnits } from '../../shared/domain/duration.ts';

/**
 * Characters that can control a terminal or hide text: control characters, line and paragraph separators, lone
 * surrogates, and format characters such as direction overrides and invisible tags (Unicode TR #36, "bidirectional text
 * spoofing").
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The same for JSON text, in which line breaks and tabs occur only between values. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** JSON escapes of the UTF-16 units: two for a character beyond U+FFFF. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** Untrusted text on one line, with the characters escaped that a terminal would act on. */
export function printable(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** A line with a secret or a key that the API shows only once. */
export function shownOnce(what: string, secret: string): string {
  return `${what} (save it now, it is not shown again): ${printable(secret)}`;
}

/**
 * JSON text of the same value with unsafe characters escaped: they occur only in strings, where an escape is
 * equivalent.
 */
export function printableJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, escaped);
}

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
  // Swedish writes times after ISO 8601.
  return Number.isNaN(at) ? '' : new Date(at).toLocaleString('sv');
}

/** A count with commas between thousands. */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** A number of seconds in units, such as 1 d 2 h 3 min 4 s. */
export function inWords(seconds: number): string {
  return inUnits(seconds).join(' ') || '0 s';
}

/** Text in a colour, where there are colours. */
export type Style = (colour: 'green' | 'yellow' | 'red' | 'gray', text: string) => string;

const COLOURS: ReadonlyMap<string, Parameters<Style>[0]> = new Map([
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
export function colouredStatus(text: string, { styled }: { styled: Style }): string {
  const colour = COLOURS.get(text.split(' ', 1)[0] ?? '');
  return colour === undefined ? text : styled(colour, text);
}

/** What follows a deletion: for how long a request can still go out, until when and how it can be undone. */
export function restorableText(
  { restorableUntil: until, requestsEndWithinSeconds: seconds }: Deletion,
  undo: string,
): string {
  return [
    until === undefined
      ? 'It cannot be restored.'
      : `It can be restored until ${clockTime(until)}: ${commandText(undo)}`,
    ...(seconds === undefined ? [] : [requestsEndText(seconds)]),
  ].join('\n');
}
