import type { IncomingMessage } from 'node:http';

export type Refusal = { status: number; code: string; message: string; allow?: string };

/**
 * Why a request is not sent on. The proxy's signature is that of its user, so nobody may borrow it: not a page of another
 * origin, nor one whose name was bound to 127.0.0.1 to look like ours (DNS rebinding), for a browser always says so in
 * Origin, Sec-Fetch-Site (Fetch Metadata) or Host.
 */
export const refusalOf = (
  { method = '', url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  port: number,
): Refusal | undefined => {
  const host = headers.host?.toLowerCase() ?? '';
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) {
    return { status: 403, code: 'forbidden', message: `only for 127.0.0.1:${port} and localhost:${port}` };
  }
  if (isFromElsewhere(headers, host)) {
    return { status: 403, code: 'forbidden', message: 'not for pages of other origins' };
  }
  return unsendable(method, url);
};

const unsendable = (method: string, url: string): Refusal | undefined => {
  if (UNSENDABLE.has(method)) {
    return {
      status: 405,
      code: 'method_not_allowed',
      message: `${method} cannot be sent on`,
      allow: SENT_ON,
    };
  }
  return isPlainPath(url)
    ? undefined
    : { status: 400, code: 'invalid_request', message: 'this path cannot be asked for' };
};

/** fetch makes none of these (Fetch §2.2.1), and the API has no route for any. */
const UNSENDABLE: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);
const SENT_ON = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

/** Programs that are no browsers send neither; a browser calls what its user typed `none`. */
const isFromElsewhere = (
  { origin, 'sec-fetch-site': site = 'none' }: IncomingMessage['headers'],
  host: string,
): boolean =>
  (origin !== undefined && origin !== `http://${host}`) || (site !== 'same-origin' && site !== 'none');

/** In origin form, and one that no URL parser changes: what is signed has to be what was asked for. */
const isPlainPath = (url: string): boolean => {
  if (!url.startsWith('/') || url.startsWith('//')) return false;
  const [path = ''] = url.split(/[?#]/, 1);
  return !path.includes('\\') && !path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
};
