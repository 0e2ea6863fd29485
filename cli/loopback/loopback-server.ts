import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { loopbackPort } from '../../local/loopback-port.ts';

export type LoopbackServer = { url: string; port: number; close: () => Promise<void> };

export type Exchange = { request: IncomingMessage; response: ServerResponse; port: number };

/**
 * Starts a server that listens on 127.0.0.1 only. If `serve` fails, the connection is closed.
 * @throws Problem when the port is in use.
 */
export async function startLoopbackServer(
  serve: (exchange: Exchange) => Promise<void>,
  wanted?: number,
): Promise<LoopbackServer> {
  const port = await loopbackPort(wanted);
  const server = createServer((request, response) => {
    serve({ request, response, port }).catch(() => {
      // A part may already be sent: destroy the connection, so that the client notices the incomplete response.
      response.destroy();
    });
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: async () => {
      const closed = once(server, 'close');
      server.close().closeAllConnections();
      await closed;
    },
  };
}

export type Refusal = { status: number; code: string; message: string; allow?: string };

type RequestHead = Pick<IncomingMessage, 'method' | 'url' | 'headers'>;

/** The refusal of a request with another `Host`, against DNS rebinding; undefined if the host is allowed. */
export function findHostRefusal({ headers }: RequestHead, port: number): Refusal | undefined {
  const host = headers.host?.toLowerCase();
  return host === `127.0.0.1:${port}` || host === `localhost:${port}`
    ? undefined
    : { status: 403, code: 'forbidden', message: `the host must be 127.0.0.1:${port} or localhost:${port}` };
}

/**
 * The refusal of a request that must not be forwarded; undefined if it may be. Requests are signed with the user's
 * credentials, so other web pages must not use them. Browsers identify such pages by Origin, Sec-Fetch-Site or Host.
 */
export function findRefusal(request: RequestHead, port: number): Refusal | undefined {
  return (
    findHostRefusal(request, port) ??
    (isCrossOrigin(request) ? CROSS_ORIGIN : undefined) ??
    unsupportedRequest(request)
  );
}

const CROSS_ORIGIN: Refusal = {
  status: 403,
  code: 'forbidden',
  message: 'requests from web pages of other origins are not allowed',
};

/** Only browsers send these headers. `none` is a request that the user typed. */
function isCrossOrigin({ headers }: RequestHead): boolean {
  const { origin, 'sec-fetch-site': site = 'none' } = headers;
  return (
    (origin !== undefined && origin !== `http://${headers.host?.toLowerCase() ?? ''}`) ||
    (site !== 'same-origin' && site !== 'none')
  );
}

function unsupportedRequest({ method = '', url = '' }: RequestHead): Refusal | undefined {
  if (UNSUPPORTED_METHODS.has(method)) {
    const message = `the method ${method} is not supported`;
    return { status: 405, code: 'method_not_allowed', message, allow: SUPPORTED_METHODS };
  }
  return isPlainPath(url)
    ? undefined
    : { status: 400, code: 'invalid_request', message: 'the path must be absolute and normalised' };
}

/** Methods that fetch forbids (Fetch §2.2.1); the API has no route for them. */
const UNSUPPORTED_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);
const SUPPORTED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS';

/** Whether the URL is in origin form and stays the same when parsed: the signed path must be the requested one. */
function isPlainPath(url: string): boolean {
  if (!url.startsWith('/') || url.startsWith('//')) return false;
  const [path = ''] = url.split(/[?#]/, 1);
  return !path.includes('\\') && !path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}

/** Sends a refusal in the API's error format, and closes the connection: the request may not have been read. */
export function refuse(response: ServerResponse, { status, code, message, allow }: Refusal): void {
  response
    .writeHead(status, {
      'content-type': 'application/json',
      connection: 'close',
      ...(allow !== undefined && { allow }),
    })
    .end(JSON.stringify({ error: { code, message } }));
}
