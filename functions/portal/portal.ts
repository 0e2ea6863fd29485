import { gzipSync } from 'node:zlib';
import * as z from 'zod';
import { findPortalRoute, portalPath } from '../../shared/config/portal-routes.ts';
import { parsePortalToken } from '../../shared/domain/portal/session.ts';
import { buildPageHeaders, type PageFiles } from '../../shared/wire/page.ts';
import {
  type pageSessionSchema,
  portalSessionSchema,
  SESSION_HEADER,
} from '../../shared/wire/views/portal.ts';
import type {
  AdmittedSession,
  SessionCredentials,
  TemporaryKeys,
} from '../../shared/ports/session-credentials.ts';

/** The fields that are read of an HTTP API event, payload format 2.0. */
const eventSchema = z.object({
  rawPath: z.string(),
  rawQueryString: z.string().default(''),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().default(false),
  headers: z.record(z.string(), z.string()).default({}),
  requestContext: z.object({ requestId: z.string(), http: z.object({ method: z.string() }) }),
});

type PortalEvent = z.infer<typeof eventSchema>;

type PortalAnswer = {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
  isBase64Encoded?: boolean;
};

export type PortalContext = {
  page: PageFiles;
  frameAncestors: readonly string[];
  /** Without a trailing slash. */
  apiUrl: string;
  /** Gives the headers of a call with a signature. */
  sign: (call: Call & { headers: Headers }, keys: TemporaryKeys) => Promise<Headers>;
  sessions: SessionCredentials;
  fetch: typeof fetch;
  reportFault: (fault: unknown, ids: { requestId: string }) => void;
};

type Call = { method: string; url: string; headers?: Headers; body?: Uint8Array<ArrayBuffer> };

/** API Gateway ends a request after 30 s. */
const TIMEOUT_MS = 25_000;

/**
 * Answers the browser of a tenant: with the files of the page, and with what the API answers to the session. What the API does is
 * decided by the role and the policy of the session, and by the API.
 * @throws ZodError for an event that is not from an HTTP API
 */
export async function answerPortal(context: PortalContext, given: unknown): Promise<PortalAnswer> {
  const event = eventSchema.parse(given);
  const { requestId } = event.requestContext;
  const answer = await answerRequest(context, event).catch((error: unknown) => {
    context.reportFault(error, { requestId });
    return refuse(
      502,
      'unavailable',
      `the API did not answer; find the log entry by request id ${requestId}`,
    );
  });
  const headers = { ...buildPageHeaders(context.frameAncestors), ...answer.headers };
  return { ...answer, headers, ...(event.requestContext.http.method === 'HEAD' && { body: '' }) };
}

function answerRequest(context: PortalContext, event: PortalEvent): Promise<PortalAnswer> {
  // A custom domain can put a base path before it.
  const path = event.rawPath
    .toWellFormed()
    .replace(/^.*?(?=\/portal(?:\/|$))/, '')
    .slice('/portal'.length);
  if (path === '') return Promise.resolve(redirect());
  const isCall = path === '/session' || path.startsWith('/api/');
  if (!isCall) return Promise.resolve(serveFile(context.page, path, event));
  if (!['same-origin', 'none', undefined].includes(event.headers['sec-fetch-site']))
    return Promise.resolve(refuse(403, 'forbidden', 'only the page itself may call this'));
  return path === '/session'
    ? passSession(context, event)
    : passOn(context, event, path.slice('/api'.length));
}

function redirect(): PortalAnswer {
  return { statusCode: 308, headers: { location: 'portal/' }, body: '' };
}

function refuse(statusCode: number, code: string, message: string): PortalAnswer {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return { statusCode, headers, body: JSON.stringify({ error: { code, message } }) };
}

function serveFile(page: PageFiles, path: string, { headers, requestContext }: PortalEvent): PortalAnswer {
  const file = page.get(path);
  if (file === undefined) return refuse(404, 'not_found', 'there is no such page');
  if (!['GET', 'HEAD'].includes(requestContext.http.method))
    return refuse(405, 'method_not_allowed', 'this path supports only GET');
  const { 'content-length': _, ...kept } = file.headers;
  const isGzip = /\bgzip\b/.test(headers['accept-encoding'] ?? '');
  return {
    statusCode: 200,
    headers: { ...kept, vary: 'accept-encoding', ...(isGzip && { 'content-encoding': 'gzip' }) },
    body: (isGzip ? gzipSync(file.bytes) : file.bytes).toString('base64'),
    isBase64Encoded: true,
  };
}

/** Exchanges a link, or shows the session again after a reload. The open route of the API decides. */
async function passSession(context: PortalContext, event: PortalEvent): Promise<PortalAnswer> {
  const { method } = event.requestContext.http;
  const url = `${context.apiUrl}/v2/portal/session`;
  if (method === 'POST')
    return toSessionAnswer(context, await send(context, { method, url, ...pickBody(event) }));
  if (method !== 'GET') return refuse(405, 'method_not_allowed', 'this path supports only GET and POST');
  const secret = findSecret(event);
  return secret === undefined ? noSession() : toSessionAnswer(context, await askForSession(context, secret));
}

/** With the origins that get the height of the page. */
async function toSessionAnswer({ frameAncestors }: PortalContext, response: Response): Promise<PortalAnswer> {
  const answer = await toAnswer(response);
  if (!response.ok) return answer;
  const session: z.input<typeof pageSessionSchema> = {
    ...portalSessionSchema.parse(JSON.parse(answer.body)),
    frame_ancestors: [...frameAncestors],
  };
  return { ...answer, body: JSON.stringify(session) };
}

function noSession(): PortalAnswer {
  return refuse(401, 'unauthorized', 'the link or session is not valid, was used, or has ended');
}

/** Undefined also for what cannot be one: nothing needs to be asked for it. */
function findSecret({ headers }: PortalEvent): string | undefined {
  const secret = headers[SESSION_HEADER];
  return secret !== undefined && parsePortalToken('session', secret) !== undefined ? secret : undefined;
}

function askForSession(context: Pick<PortalContext, 'apiUrl' | 'fetch'>, secret: string): Promise<Response> {
  const headers = new Headers({ authorization: `Bearer ${secret}` });
  return send(context, { method: 'GET', url: `${context.apiUrl}/v2/portal/session`, headers });
}

/** What a session may do, by the API. Undefined: it does not know the session. @throws when the API fails */
export async function readSession(
  context: Pick<PortalContext, 'apiUrl' | 'fetch'>,
  secret: string,
): Promise<AdmittedSession | undefined> {
  const response = await askForSession(context, secret);
  if (response.status === 401) return undefined;
  if (!response.ok) throw new Error(`The API answered ${response.status} to a session.`);
  const { queue, session_name: name, capabilities } = portalSessionSchema.parse(await response.json());
  return { queue, name, rights: ['see', ...capabilities] };
}

/** Passes a request of the page on to the gate of the API, signed with the credentials of its session. */
async function passOn(context: PortalContext, event: PortalEvent, rest: string): Promise<PortalAnswer> {
  const secret = findSecret(event);
  const session = secret === undefined ? undefined : await context.sessions.find(secret);
  if (secret === undefined || session === undefined) return noSession();
  const right = findPortalRoute(event.requestContext.http.method, rest)?.route.right;
  if (right === undefined) return refuse(404, 'not_found', 'there is no such route in the portal');
  // API Gateway would refuse it, too, and name the account and the role.
  if (!session.rights.includes(right))
    return refuse(403, 'forbidden', `the link of this session does not grant ${right}`);
  const call = toCall(context, event, `${portalPath(session.queue, right)}${encodePath(rest)}`);
  const response = await send(context, { ...call, headers: await context.sign(call, session.keys) });
  if (response.status === 401) context.sessions.forget(secret);
  return toAnswer(response);
}

function toCall({ apiUrl }: PortalContext, event: PortalEvent, path: string): Call & { headers: Headers } {
  const search = event.rawQueryString === '' ? '' : `?${event.rawQueryString}`;
  const { method } = event.requestContext.http;
  // fetch refuses a GET with a body.
  const body = method === 'GET' ? {} : pickBody(event);
  return { method, url: `${apiUrl}${path}${search}`, headers: new Headers(body.body && JSON_BODY), ...body };
}

/** API Gateway decodes paths, apart from encoded slashes. */
function encodePath(path: string): string {
  return path
    .split('/')
    .map((segment) => encodeURIComponent(segment).replaceAll(/%25(?=2f)/gi, '%'))
    .join('/');
}

const JSON_BODY = { 'content-type': 'application/json' };

/** Nothing else of the browser's request is passed on. */
function pickBody({ body, isBase64Encoded }: PortalEvent): { body?: Uint8Array<ArrayBuffer> } {
  const bytes = Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8');
  return bytes.length === 0 ? {} : { body: new Uint8Array(bytes) };
}

function send({ fetch }: Pick<PortalContext, 'fetch'>, { url, headers, ...init }: Call): Promise<Response> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return fetch(url, { ...init, headers: headers ?? new Headers(JSON_BODY), redirect: 'error', signal });
}

async function toAnswer(response: Response): Promise<PortalAnswer> {
  const type = response.headers.get('content-type');
  const headers = { 'cache-control': 'no-store', ...(type !== null && { 'content-type': type }) };
  return { statusCode: response.status, headers, body: await response.text() };
}
