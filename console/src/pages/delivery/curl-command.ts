/** A header as a subscriber gets it. */
export type RequestHeader = readonly [name: string, value: string];

/**
 * A command that repeats a request. All values come from producers and subscribers: each is one quoted word, and none
 * can be read as an option, as the name of a file, or as a pattern of URLs.
 */
export function curlCommand({
  url,
  headers,
  body,
}: {
  url: string;
  headers: readonly RequestHeader[];
  /** Undefined: not known; the command sends an empty one. */
  body: string | undefined;
}): string {
  const lines = [
    'curl --globoff --path-as-is --request POST',
    `--url ${shellWord(url)}`,
    // curl removes a header that is given as "name:"; "name;" sends it without a value.
    ...headers.map(
      ([name, value]) => `--header ${shellWord(value === '' ? `${name};` : `${name}: ${value}`)}`,
    ),
    // --data and --data-binary would read the file that a body of "@name" names.
    `--data-raw ${shellWord(body ?? '')}`,
  ];
  return lines.join(' \\\n  ');
}

/** Control and format characters: a terminal could act on them when the command is pasted or shown. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
/** Quotes and exclamation marks too, because history expansion of older shells does not know `$'…'`. */
const ESCAPED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\'!]/gu;

/** One word of bash or zsh. Text with invisible characters is quoted as `$'…'`, which names their bytes. */
function shellWord(text: string): string {
  if (!INVISIBLE.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`;
  return `$'${text.replaceAll(ESCAPED, bytesOf)}'`;
}

function bytesOf(character: string): string {
  if (character === '\n') return '\\n';
  return [...new TextEncoder().encode(character)]
    .map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`)
    .join('');
}
