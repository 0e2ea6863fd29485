import type { Hono } from 'hono';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ConsoleFailureCode } from '../../../shared/wire/views/console.ts';
import { relay, sendSigned } from '../../loopback/signed-request.ts';
import { startLoopbackServer, type Exchange, type LoopbackServer } from '../../loopback/loopback-server.ts';
import { refusalOf, refuse, type Refusal } from '../../loopback/refusal.ts';
import { consoleInfo, type ConsoleTarget } from './console-info.ts';
import { answerBy, DEAD_LETTERS, deadLetterRoutes } from './dead-letter-routes.ts';
import { explainRefusal } from './gateway-answer.ts';
import { servePage, STRICT_HEADERS, type PageFiles } from './page-files.ts';

/** Requests under this path are signed and forwarded to the API of the deployment. */
const API = '/api';
const INFO = '/api-local/info';

export type ConsoleOptions = {
  page: PageFiles;
  target: ConsoleTarget;
  /** Port on 127.0.0.1. @default a free port */
  port?: number | undefined;
};

/**
 * Serves the page and a signed route to the API on 127.0.0.1. The token is in the fragment of `url`, which browsers do
 * not send.
 * @throws Problem when the port is in use.
 */
export async function startConsole({ page, target, port: wanted }: ConsoleOptions): Promise<LoopbackServer> {
  const token = newToken();
  const stopped = new AbortController();
  const deadLetters =
    target.kind === 'deployment' ? deadLetterRoutes(target.deadLetters, stopped.signal) : undefined;
  const server = await startLoopbackServer(async (exchange) => {
    const { request, response, port } = exchange;
    for (const [name, value] of Object.entries(STRICT_HEADERS)) response.setHeader(name, value);
    const { url = '/' } = request;
    if (isOfPage(url)) {
      servePage(page, exchange);
      return;
    }
    response.setHeader('cache-control', 'no-store');
    const refusal = pageRefusalOf(exchange, port, token);
    if (refusal !== undefined) refuse(response, refusal);
    else if (url === INFO && request.method === 'HEAD') response.writeHead(200).end();
    else if (url === INFO) await sendInfo(response, target);
    else await relay(await answerOf(exchange, target, deadLetters), response);
  }, wanted);
  return {
    ...server,
    url: `${server.url}/#token=${token}`,
    close: () => {
      stopped.abort();
      return server.close();
    },
  };
}

function isOfPage(url: string): boolean {
  return url !== INFO && !url.startsWith(DEAD_LETTERS) && !url.startsWith(`${API}/`);
}

/**
 * Refuses requests that are not from the page. Browsers send Origin with every request that changes data (Fetch §3.1).
 */
function pageRefusalOf({ request }: Exchange, port: number, token: string): Refusal | undefined {
  const refusal = refusalOf(request, port);
  if (refusal !== undefined) return refusal;
  const { method = '', headers } = request;
  if (method !== 'GET' && method !== 'HEAD' && headers.origin === undefined) {
    return consoleRefusal(403, 'forbidden', 'only the console page may send this request');
  }
  return hasToken(request, token)
    ? undefined
    : consoleRefusal(
        401,
        'token_refused',
        'The console token is missing or from an earlier run. Open the address that the command printed.',
      );
}

/** A random token of 256 bits, valid for one run of the command. */
function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Whether the request carries the token; compared in constant time. */
function hasToken({ headers }: Pick<IncomingMessage, 'headers'>, token: string): boolean {
  return timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function consoleRefusal(status: number, code: ConsoleFailureCode, message: string): Refusal {
  return { status, code, message };
}

async function sendInfo(response: ServerResponse, target: ConsoleTarget): Promise<void> {
  const info = await consoleInfo(target);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(info));
}

async function answerOf(
  { request }: Exchange,
  target: ConsoleTarget,
  deadLetters: Hono | undefined,
): Promise<Response | Refusal> {
  if (target.kind === 'none') return consoleRefusal(503, 'no_deployment', target.reason);
  const { method = '', url = '' } = request;
  if (deadLetters !== undefined && url.startsWith(DEAD_LETTERS)) return answerBy(deadLetters, request);
  const path = url.slice(API.length);
  const answer = await sendSigned(target.access, request, path);
  return answer instanceof Response ? explainRefusal(`${method} ${path}`, answer) : answer;
}
