/**
 * What could move a terminal's cursor, colour it, reverse its text or hide in it: control characters of both ranges, line and
 * paragraph separators, marks and overrides of direction (Unicode TR #36, "bidirectional text spoofing"), lone surrogates.
 */
const UNSAFE = /[\p{Cc}\p{Cs}\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** The same within JSON, where line breaks and tabs between values are no part of any text. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cs}\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Text that others control, on one line and with nothing in it that a terminal would act on. */
export function printable(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** As JSON text of the same value: in JSON these characters stand in strings only, where an escape means the same. */
export function printableJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, escaped);
}
