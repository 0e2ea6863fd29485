import type { IncomingMessage, ServerResponse } from 'node:http';

export type Refusal = { status: number; code: string; message: string; allow?: string };

type Asked = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** Why a request may not reach us at all: its `Host` is a name that was bound to 127.0.0.1 to look like ours (DNS rebinding). */
export function hostRefusalOf({ headers }: Asked, port: number): Refusal | undefined {
  const host = hostOf(headers);
  return host === `127.0.0.1:${port}` || host === `localhost:${port}`
    ? undefined
    : { status: 403, code: 'forbidden', message: `only for 127.0.0.1:${port} and localhost:${port}` };
}

/**
 * Why a request is not sent on. The signature is that of the command's user, so nobody may borrow it: not a page of another
 * origin, nor one behind another name, for a browser always says so in Origin, Sec-Fetch-Site (Fetch Metadata) or Host.
 */
export function refusalOf(request: Asked, port: number): Refusal | undefined {
  return (
    hostRefusalOf(request, port) ??
    (isFromElsewhere(request) ? FROM_ELSEWHERE : undefined) ??
    unsendable(request)
  );
}

const FROM_ELSEWHERE: Refusal = {
  status: 403,
  code: 'forbidden',
  message: 'not for pages of other origins',
};

function hostOf(headers: Asked['headers']): string {
  return headers.host?.toLowerCase() ?? '';
}

/** Programs that are no browsers send neither; a browser calls what its user typed `none`. */
function isFromElsewhere({ headers }: Asked): boolean {
  const { origin, 'sec-fetch-site': site = 'none' } = headers;
  return (
    (origin !== undefined && origin !== `http://${hostOf(headers)}`) ||
    (site !== 'same-origin' && site !== 'none')
  );
}

function unsendable({ method = '', url = '' }: Asked): Refusal | undefined {
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
}

/** fetch makes none of these (Fetch §2.2.1), and the API has no route for any. */
const UNSENDABLE: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);
const SENT_ON = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

/** In origin form, and one that no URL parser changes: what is signed has to be what was asked for. */
function isPlainPath(url: string): boolean {
  if (!url.startsWith('/') || url.startsWith('//')) return false;
  const [path = ''] = url.split(/[?#]/, 1);
  return !path.includes('\\') && !path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}

/** In the form of the API's own errors. The connection is not used again: its request may not have been read. */
export function refuse(response: ServerResponse, { status, code, message, allow }: Refusal): void {
  response
    .writeHead(status, {
      'content-type': 'application/json',
      connection: 'close',
      ...(allow !== undefined && { allow }),
    })
    .end(JSON.stringify({ error: { code, message } }));
}
