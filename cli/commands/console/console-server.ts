import type { ServerResponse } from 'node:http';
import type { ConsoleFailureCode } from '../../../shared/wire/views/console.ts';
import { forward, relay } from '../../loopback/forward.ts';
import { startLoopbackServer, type Exchange, type LoopbackServer } from '../../loopback/loopback-server.ts';
import { refusalOf, refuse, type Refusal } from '../../loopback/refusal.ts';
import { consoleInfo, type Surroundings } from './console-info.ts';
import { explained } from './gateway-answer.ts';
import { servePage, STRICT_HEADERS, type PageFiles } from './page-files.ts';
import { hasToken, newToken } from './page-token.ts';

/** What is under it goes on to the API of the deployment, signed. */
const API = '/api';
const INFO = '/api-local/info';

export type ConsoleOptions = {
  page: PageFiles;
  surroundings: Surroundings;
  /** A port of 127.0.0.1. @default a free one */
  port?: number;
};

/**
 * Serves the page on 127.0.0.1, and the API to it. `url` has the token in its fragment, which no browser sends along.
 * @throws Problem when the port is taken.
 */
export async function startConsole({
  page,
  surroundings,
  port: wanted,
}: ConsoleOptions): Promise<LoopbackServer> {
  const token = newToken();
  const server = await startLoopbackServer(async (exchange) => {
    const { request, response, port } = exchange;
    for (const [name, value] of Object.entries(STRICT_HEADERS)) response.setHeader(name, value);
    const { url = '/' } = request;
    if (url !== INFO && !url.startsWith(`${API}/`)) {
      servePage(page, exchange);
      return;
    }
    response.setHeader('cache-control', 'no-store');
    const refusal = pageRefusalOf(exchange, port, token);
    if (refusal !== undefined) refuse(response, refusal);
    else if (url === INFO) await tell(response, surroundings);
    else await relay(await answerOf(exchange, surroundings), response);
  }, wanted);
  return { ...server, url: `${server.url}/#token=${token}` };
}

/** Why a request is not the page's. A browser says its origin with every request that changes something (Fetch §3.1). */
function pageRefusalOf({ request }: Exchange, port: number, token: string): Refusal | undefined {
  const refusal = refusalOf(request, port);
  if (refusal !== undefined) return refusal;
  const { method = '', headers } = request;
  if (method !== 'GET' && method !== 'HEAD' && headers.origin === undefined) {
    return ours(403, 'forbidden', 'only for the page of the console');
  }
  return hasToken(request, token)
    ? undefined
    : ours(401, 'token_refused', 'Open the console at the address that the command has printed.');
}

function ours(status: number, code: ConsoleFailureCode, message: string): Refusal {
  return {
    status,
    code,
    message,
  };
}

async function tell(response: ServerResponse, surroundings: Surroundings): Promise<void> {
  const info = await consoleInfo(surroundings);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(info));
}

async function answerOf({ request }: Exchange, surroundings: Surroundings): Promise<Response | Refusal> {
  if (surroundings.kind === 'none') return ours(503, 'no_deployment', surroundings.reason);
  const { method = '', url = '' } = request;
  const path = url.slice(API.length);
  const answer = await forward(surroundings.access, request, path);
  return answer instanceof Response ? explained(`${method} ${path}`, answer) : answer;
}
