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
