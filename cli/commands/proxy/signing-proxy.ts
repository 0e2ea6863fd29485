import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ApiAccess } from '../../api/api-access.ts';
import { boundedBody } from '../../bounded-body.ts';
import { failureText } from '../../failure-text.ts';
import { loopbackPort } from '../../local/loopback-port.ts';
import { refusalOf, type Refusal } from './refusal.ts';

export type SigningProxy = { url: string; close: () => Promise<void> };

/** What API Gateway takes (Amazon API Gateway quotas). The body has to be there whole: the signature covers it. */
const MOST_BYTES = 10 * 1024 * 1024;
/** API Gateway gives an answer within 30 s, or gives up. */
const TIMEOUT_MS = 35_000;

/** What goes along. Nothing by which a program could be somebody else: the signature is ours. */
const FORWARDED = ['accept', 'content-type', 'client-id', 'x-project-id', 'user-agent'];
/** What comes back. Lengths and encodings are this connection's own. */
const RETURNED = ['content-type', 'location', 'allow', 'retry-after', 'cache-control'];

/**
 * A server on 127.0.0.1 that signs each request and sends it on to the API.
 * @throws Problem when the port is taken.
 */
export const startSigningProxy = async (access: ApiAccess, wanted?: number): Promise<SigningProxy> => {
  const port = await loopbackPort(wanted);
  const server = createServer((request, response) => {
    forward(access, port, request, response).catch(() => {
      // The answer had begun when one of the two sides went away: cut off, nobody takes it for whole.
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
};

const forward = async (
  access: ApiAccess,
  port: number,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const refusal = refusalOf(request, port);
  if (refusal !== undefined) {
    refuse(response, refusal);
    return;
  }
  const body = await boundedBody(request, MOST_BYTES);
  if (body === undefined) {
    refuse(response, { status: 413, code: 'too_large', message: `the body is over ${MOST_BYTES} bytes` });
    return;
  }
  const answer = await ask(access, request, body);
  if (answer instanceof Response) {
    response.writeHead(answer.status, headersOf(answer.headers));
    if (answer.body === null) response.end();
    else await pipeline(Readable.fromWeb(answer.body), response);
  } else refuse(response, answer);
};

/** What comes with these is left behind: fetch sends none, and the API reads none. Zaqar's own client leaves one there. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

const ask = async (
  { apiUrl, authorize }: ApiAccess,
  request: IncomingMessage,
  body: Buffer<ArrayBuffer>,
): Promise<Response | Refusal> => {
  const { method = 'GET', url = '/' } = request;
  const call = {
    method,
    url: apiUrl + url,
    headers: forwardedOf(request),
    ...(body.length > 0 && !BODILESS.has(method) && { body }),
  };
  try {
    const headers = await authorize(call);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return await fetch(call.url, { ...call, headers, redirect: 'manual', signal });
  } catch (error) {
    const cause = error instanceof TypeError ? (error.cause ?? error) : error;
    return { status: 502, code: 'unreachable', message: `the API does not answer: ${failureText(cause)}` };
  }
};

const forwardedOf = ({ headers }: IncomingMessage): Headers =>
  new Headers(
    FORWARDED.flatMap((name): [string, string][] => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );

const headersOf = (headers: Headers): Record<string, string> => ({
  ...Object.fromEntries(
    RETURNED.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  ),
  // A browser shall take an answer for nothing but what it says it is.
  'x-content-type-options': 'nosniff',
});

/** In the form of the API's own errors. The connection is not used again: its request may not have been read. */
const refuse = (response: ServerResponse, { status, code, message, allow }: Refusal): void => {
  response
    .writeHead(status, {
      'content-type': 'application/json',
      connection: 'close',
      ...(allow !== undefined && { allow }),
    })
    .end(JSON.stringify({ error: { code, message } }));
};
