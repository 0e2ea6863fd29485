/** Characters; the longest URL that a subscription may have. */
export const MAX_SUBSCRIBER_URL_LENGTH = 2048;

/** `fault` is a sentence without subject, fit to follow the name of a field. */
type SubscriberUrl = { kind: 'valid'; url: URL } | { kind: 'invalid'; fault: string };

const SCHEMES: ReadonlySet<string> = new Set(['http:', 'https:']);

/** The URL parser drops or trims these silently, so that what is shown would not be what is called. */
const BLANK_OR_CONTROL = /[\s\p{Cc}]/u;

function invalid(fault: string): SubscriberUrl {
  return { kind: 'invalid', fault };
}

/** Whether a subscriber's URL is acceptable in form. Where it leads is a matter of the address guard. */
export function parseSubscriberUrl(text: string): SubscriberUrl {
  if (text.length > MAX_SUBSCRIBER_URL_LENGTH) {
    return invalid(`must not be longer than ${MAX_SUBSCRIBER_URL_LENGTH} characters`);
  }
  if (BLANK_OR_CONTROL.test(text)) return invalid('must not contain blanks or control characters');
  const url = URL.parse(text);
  if (url === null) return invalid('must be an absolute URL');
  const fault = faultOf(url, text);
  return fault === undefined ? { kind: 'valid', url } : invalid(fault);
}

function faultOf(url: URL, text: string): string | undefined {
  if (!SCHEMES.has(url.protocol)) return 'must be an http or https URL';
  // The URL parser takes `http:host` for an absolute URL as well.
  if (!/^https?:\/\//i.test(text)) return 'must be an absolute URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (url.port === '0') return 'must not name port 0';
  return url.hostname.includes('..') ? 'must not have an empty label in its host name' : undefined;
}

/** What makes two spellings of a URL one subscriber: what is called in the end, which no fragment is a part of. */
export function subscriberIdentity(subscriber: string): string {
  const url = URL.parse(subscriber);
  if (url === null) return subscriber;
  url.hash = '';
  return url.href;
}

/** TCP ports; both ends belong to it. */
export type PortRange = { from: number; to: number };

const FORM = /^(?<first>\d{1,5})(?:-(?<last>\d{1,5}))?$/;
const MAX_PORT = 65_535;

/** Reads `443` and `8000-9000`. Undefined: anything else, ports outside 1 to 65535, and a range that ends before it begins. */
export function parsePortRange(text: string): PortRange | undefined {
  const { first, last } = FORM.exec(text)?.groups ?? {};
  const from = Number(first);
  const to = Number(last ?? first);
  return from >= 1 && from <= to && to <= MAX_PORT ? { from, to } : undefined;
}

export function isWithin(port: number, { from, to }: PortRange): boolean {
  return port >= from && port <= to;
}
