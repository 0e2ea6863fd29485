import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Hono } from 'hono';
import * as z from 'zod';
import { operation } from '../../../api-client/api-client.ts';
import { adviceFor, ApiRefusal } from '../../../api-client/refusal.ts';
import { COMMAND } from '../../../local/command-name.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { jsonOrUndefined } from '../../../shared/domain/json.ts';
import { buildPageHeaders, type PageFiles } from '../../../shared/wire/page.ts';
import type { ConsoleFailureCode, ConsoleInfo } from '../../../shared/wire/views/console.ts';
import { type ApiAccess, findApi, apiClient } from '../../api/api-access.ts';
import { type DeadLetterAccess, openDeadLetters } from '../../dead-letters/dead-letter-access.ts';
import type { DeploymentChoice } from '../../deployment.ts';
import {
  type Exchange,
  type LoopbackServer,
  startLoopbackServer,
  findHostRefusal,
  type Refusal,
  findRefusal,
  refuse,
} from '../../loopback/loopback-server.ts';
import { refusalFromFailure, relay, sendSigned } from '../../loopback/signed-request.ts';
import type { Terminal } from '../../terminal.ts';
import { answerBy, DEAD_LETTERS, deadLetterRoutes } from './dead-letter-routes.ts';

/** Requests under this path are signed and forwarded to the API of the deployment. */
const API = '/api';
const INFO = '/api-local/info';

type ConsoleOptions = { page: PageFiles; target: ConsoleTarget; port?: number | undefined };

/**
 * Serves the page and a signed route to the API on 127.0.0.1. The token is in the fragment of `url`, which browsers do
 * not send. `port`: by default a free one.
 * @throws Problem when the port is in use.
 */
export async function startConsole({ page, target, port: wanted }: ConsoleOptions): Promise<LoopbackServer> {
  // Of 256 bits, valid for one run of the command.
  const token = randomBytes(32).toString('base64url');
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
    const refusal = findPageRefusal(exchange, port, token);
    if (refusal !== undefined) refuse(response, refusal);
    else if (url === INFO && request.method === 'HEAD') response.writeHead(200).end();
    else if (url === INFO) {
      const info = JSON.stringify(await consoleInfo(target));
      response.writeHead(200, { 'content-type': 'application/json' }).end(info);
    } else await relay(await answerRequest(exchange, target, deadLetters), response);
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
function findPageRefusal({ request }: Exchange, port: number, token: string): Refusal | undefined {
  const refusal = findRefusal(request, port);
  if (refusal !== undefined) return refusal;
  const { method = '', headers } = request;
  if (method !== 'GET' && method !== 'HEAD' && headers.origin === undefined)
    return consoleRefusal(403, 'forbidden', 'only the console page may send this request');
  // In constant time.
  if (timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${token}`))) return undefined;
  return consoleRefusal(
    401,
    'token_refused',
    'The console token is missing or from an earlier run. Open the address that the command printed.',
  );
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function consoleRefusal(status: number, code: ConsoleFailureCode, message: string): Refusal {
  return { status, code, message };
}

async function answerRequest(
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

/** The body of errors that API Gateway itself returns. */
const gatewayMessage = z.strictObject({ message: z.string().nullable() });

/**
 * Returns the API's responses unchanged; turns errors of API Gateway or another intermediary into the API's error
 * format.
 */
async function explainRefusal(request: string, answer: Response): Promise<Response | Refusal> {
  const { status, headers } = answer;
  if (status < 400) return answer;
  const text = await answer.text().catch(refusalFromFailure);
  if (typeof text !== 'string') return text;
  const body = jsonOrUndefined(text);
  if (body !== undefined && !gatewayMessage.safeParse(body).success)
    return new Response(text, { status, headers });
  return toRefusal(new ApiRefusal(request, status, text), headers);
}

/** Detects expiry by the text: authorisers report it in WWW-Authenticate (RFC 6750 §3), IAM in its message. */
function toRefusal(refusal: ApiRefusal, headers: Headers): Refusal {
  const { status, message } = refusal;
  if (/expired/i.test(`${message} ${headers.get('www-authenticate') ?? ''}`))
    return { status, code: 'credentials_expired', message: EXPIRED };
  const said = `API Gateway returned ${status}${message === '' ? '' : `: ${message}`}`;
  return { status, code: classifyStatus(status), message: adviceFor(refusal) ?? said };
}

function classifyStatus(status: number): ConsoleFailureCode {
  if (status === 401) return 'unauthorized';
  if (status === 429) return 'too_many_requests';
  return status < 500 ? 'forbidden' : 'unavailable';
}

const EXPIRED = 'Your credentials or token have expired. Renew them, then restart the console.';

/** Headers of every response. */
const STRICT_HEADERS = {
  ...buildPageHeaders([]),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Serves the page without a token, since it contains no secret; only the host name is checked. */
function servePage(page: PageFiles, { request, response, port }: Exchange): void {
  const { method = '', url = '/' } = request;
  const refusal = findHostRefusal(request, port);
  const file = page.get(url.split('?', 1)[0] ?? '/');
  if (refusal !== undefined) refuse(response, refusal);
  else if (method !== 'GET' && method !== 'HEAD') {
    const message = 'the page supports GET and HEAD only';
    refuse(response, { status: 405, code: 'method_not_allowed', message, allow: 'GET, HEAD' });
  } else if (file === undefined) {
    refuse(response, { status: 404, code: 'not_found', message: 'there is no such page' });
  } else response.writeHead(200, file.headers).end(file.bytes);
}

/** The deployment that the console shows, or the reason for its absence. `deadLetters` throws if only the API is known. */
export type ConsoleTarget =
  | { kind: 'deployment'; access: ApiAccess; deadLetters: () => Promise<DeadLetterAccess> }
  | { kind: 'none'; reason: string };

/** @throws Problem with advice when there is no deployment */
export async function deploymentTarget(
  choice: DeploymentChoice,
  terminal: Pick<Terminal, 'env' | 'sleep'>,
): Promise<ConsoleTarget> {
  const access = await findApi(choice, terminal.env);
  return { kind: 'deployment', access, deadLetters: () => openDeadLetters(choice, terminal) };
}

/** The page waits for this response, so the lookup gives up before the API times out. */
const VERSION_WITHIN_MS = 5_000;

const describe = {
  ...operation('GET /v2/openapi.json', z.unknown()),
  schema: z.object({ info: z.object({ version: z.string() }) }),
};

/** The page's description of its deployment. Never fails: the version of one that does not answer is unknown. */
async function consoleInfo(target: ConsoleTarget): Promise<ConsoleInfo> {
  const common = { commandVersion: packageJson.version, command: COMMAND };
  if (target.kind === 'none') {
    const problem = { code: 'no_deployment', message: target.reason };
    return { ...common, deployment: null, region: null, version: null, isLocal: false, problem };
  }
  const { name, region = null, apiUrl, isLocal } = target.access;
  return { ...common, deployment: name, region, apiUrl, isLocal, version: await readVersion(target.access) };
}

/** Reads the version from the API's OpenAPI document. The page shows why its requests fail. */
function readVersion(access: ApiAccess): Promise<string | null> {
  const asked = apiClient(access).call(describe, { signal: AbortSignal.timeout(VERSION_WITHIN_MS) });
  return asked.then(
    ({ info }) => info.version,
    () => null,
  );
}
