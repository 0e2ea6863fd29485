/** Maximum length of a subscriber's URL in characters. */
export const MAX_SUBSCRIBER_URL_LENGTH = 2048;

/** `fault` completes a sentence that begins with the name of the field. */
type SubscriberUrl = { kind: 'valid'; url: URL } | { kind: 'invalid'; fault: string };

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:']);

/** The URL parser silently drops or replaces these, so the displayed URL would differ from the called one. */
const BLANK_OR_CONTROL = /[\s\p{Cc}\p{Cs}]/u;

/** What is wrong with the name of a pull destination; undefined: nothing. */
export function pullNameFault(name: string): string | undefined {
  return /^[A-Za-z0-9._-]{0,64}$/.test(name)
    ? undefined
    : 'must be pull: and a name of at most 64 letters, digits, dots, hyphens and underscores, if any';
}

function invalid(fault: string): SubscriberUrl {
  return { kind: 'invalid', fault };
}

/** Checks the form of a subscriber's URL. The address guard checks where it leads. */
export function parseSubscriberUrl(text: string): SubscriberUrl {
  if (text.length > MAX_SUBSCRIBER_URL_LENGTH) {
    return invalid(`must not be longer than ${MAX_SUBSCRIBER_URL_LENGTH} characters`);
  }
  if (BLANK_OR_CONTROL.test(text)) return invalid('must not contain blanks or control characters');
  const url = URL.parse(text);
  if (url === null) return invalid('must be an absolute URL');
  const fault = findFault(url, text);
  return fault === undefined ? { kind: 'valid', url } : invalid(fault);
}

function findFault(url: URL, text: string): string | undefined {
  if (!SCHEMES.has(url.protocol)) return 'must be an http or https URL';
  // The URL parser also accepts `http:host` as absolute.
  if (!/^https?:\/\//i.test(text)) return 'must be an absolute URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.port === '0') return 'must not name port 0';
  return url.hostname.includes('..') ? 'must not have an empty label in its host name' : undefined;
}

/** TCP ports, both ends included. */
export type PortRange = { from: number; to: number };

const FORM = /^(?<first>\d{1,5})(?:-(?<last>\d{1,5}))?$/;
const MAX_PORT = 65_535;

/** Parses `443` and `8000-9000`; undefined for anything else, ports outside 1 to 65535 and reversed ranges. */
export function parsePortRange(text: string): PortRange | undefined {
  const { first, last } = FORM.exec(text)?.groups ?? {};
  const from = Number(first);
  const to = Number(last ?? first);
  return from >= 1 && from <= to && to <= MAX_PORT ? { from, to } : undefined;
}

export function isWithin(port: number, { from, to }: PortRange): boolean {
  return port >= from && port <= to;
}
