/**
 * What could move a terminal's cursor, colour it, reverse its text or hide in it: control characters of both ranges, line and
 * paragraph separators, format characters such as overrides of direction (Unicode TR #36, "bidirectional text spoofing") and
 * tags that show nothing, lone surrogates.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** The same within JSON, where line breaks and tabs between values are no part of any text. */
const UNSAFE_IN_JSON = /[\u007f-\u009f\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** In UTF-16, as JSON escapes it: two escapes for a character beyond U+FFFF. */
function escaped(character: string): string {
  return Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
}

/** Text that others control, on one line and with nothing in it that a terminal would act on. */
export function printable(text: string): string {
  return text.replace(UNSAFE, escaped);
}

/** As JSON text of the same value: in JSON these characters stand in strings only, where an escape means the same. */
export function printableJson(json: string): string {
  return json.replace(UNSAFE_IN_JSON, escaped);
}
