import type { Sent } from '../../shared/domain/retry/outcome.ts';
import { REDACTED } from '../../shared/domain/subscription/credential-headers.ts';

/** The reply for the record, without these secrets where the subscriber sent them back, also escaped or cut off. */
export function withoutSecrets<From extends Sent>(reply: From, secrets: readonly string[]): From {
  if (reply.kind !== 'answered' || reply.snippet === undefined || secrets.length === 0) return reply;
  const texts = secrets.flatMap(spellings).sort((one, other) => other.length - one.length);
  const snippet = texts.reduce(withoutText, reply.snippet);
  const plain = unescaped(snippet);
  const plainSnippet = texts.reduce(withoutText, plain);
  return { ...reply, snippet: plainSnippet === plain ? snippet : plainSnippet };
}

/** An escape that the end of the snippet cuts off. */
const CUT_OFF = /(?:\\(?:u[\da-f]{0,3})?|%[\da-f]?|&(?:#x?[\da-f]*|[a-z]{0,4}))$/i;

/** Without the escapes that PHP, .NET, HTML pages and others write in place of characters such as `/`, `+` and `"`. */
function unescaped(snippet: string): string {
  return snippet
    .replace(CUT_OFF, '')
    .replaceAll(/(?:%[\da-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString())
    .replaceAll(/&(amp|apos|gt|lt|quot);/g, (_, name: string) => NAMED.get(name) ?? '')
    .replaceAll(/&#(\d{1,6});/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll(/&#x([\da-f]{1,5});/gi, (_, code: string) => String.fromCodePoint(parseInt(code, 16)))
    .replaceAll(/\\u([\da-f]{4})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    .replaceAll(/\\(.)/g, '$1');
}

const NAMED: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['apos', "'"],
  ['gt', '>'],
  ['lt', '<'],
  ['quot', '"'],
]);

/** A secret as it was sent, in JSON and in a URL; also without its first word, such as "Bearer". */
function spellings(secret: string): string[] {
  const [, ...words] = secret.split(/\s+/);
  // A snippet shows a tab as a blank.
  return [secret, secret.replaceAll('\t', ' '), ...words]
    .filter((text) => text !== '')
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]);
}

/** In characters. A snippet may end amid a secret; fewer characters of it are not recognised. */
const MIN_BEGINNING = 8;

function withoutText(snippet: string, text: string): string {
  const rest = snippet.replaceAll(text, REDACTED);
  for (let length = Math.min(text.length - 1, rest.length); length >= MIN_BEGINNING; length -= 1)
    if (rest.endsWith(text.slice(0, length))) return `${rest.slice(0, -length)}${REDACTED}`;
  return rest;
}
