import * as z from 'zod';
import { DEFAULT_ROUTE, isOpenPath } from '../../shared/config/open-routes.ts';
import type { Caller } from './audit.ts';
import type { Api } from './dependencies.ts';
import type { Claims } from './permission.ts';

/** The parts that we read of an HTTP API's event, payload format 2.0. Zaqar's own two headers are ignored. */
const httpApiEvent = z.object({
  routeKey: z.string().default(DEFAULT_ROUTE),
  rawPath: z.string(),
  rawQueryString: z.string().default(''),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().default(false),
  headers: z.object({ host: z.string().exactOptional() }).default({}),
  requestContext: z.object({
    requestId: z.string(),
    apiId: z.string().default(''),
    domainName: z.string().default('api.invalid'),
    http: z.object({ method: z.string() }),
    authorizer: z
      .object({
        iam: z.object({ userArn: z.string().nullish() }).nullish(),
        jwt: z.object({ claims: z.record(z.string(), z.string()).nullish() }).nullish(),
      })
      .nullish(),
  }),
});

type HttpApiEvent = z.infer<typeof httpApiEvent>;

/** Payload format 2.0. */
type HttpApiAnswer = { statusCode: number; headers: Record<string, string>; body: string };

type ApiRequest = { request: Request; caller: Caller; claims?: Claims; publicUrl: string };

/**
 * The API's answer to an event; a fault of ours is an answer too.
 * @param publicApiUrl where callers reach the API, if not at its own domain
 * @throws ZodError for an event that is not an HTTP API's, which fails the invocation
 */
export async function answerHttpApi(api: Api, event: unknown, publicApiUrl?: string): Promise<HttpApiAnswer> {
  const { request, ...bindings } = parseHttpApiEvent(event, publicApiUrl);
  return httpApiAnswer(await api.fetch(request, bindings));
}

/**
 * @param publicApiUrl where callers reach the API, if not at its own domain
 * @throws ZodError for an event that is not an HTTP API's. The path is as the `$default` stage passes it: without a
 * stage in front, and already decoded.
 */
export function parseHttpApiEvent(event: unknown, publicApiUrl?: string): ApiRequest {
  const parsed = httpApiEvent.parse(event);
  const { requestId, authorizer } = parsed.requestContext;
  const claims = authorizer?.jwt?.claims;
  return {
    request: requestOf(parsed),
    caller: { principal: principalOf(parsed), requestId },
    ...(claims && { claims }),
    publicUrl: publicUrlOf(parsed, publicApiUrl),
  };
}

function publicUrlOf({ headers, requestContext }: HttpApiEvent, publicApiUrl?: string): string {
  const { apiId, domainName } = requestContext;
  if (publicApiUrl === undefined) return `https://${domainName}`;
  const { host = domainName } = headers;
  return publicApiUrl.replaceAll('{host}', () => host).replaceAll('{apiId}', () => apiId);
}

export async function httpApiAnswer(response: Response): Promise<HttpApiAnswer> {
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}

/** The Request constructor refuses these (Fetch §2.2.1). No route has them, nor OPTIONS, which replaces them. */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** Drops the body of a GET: Request does not allow one, and no route reads it. */
function requestOf(parsed: HttpApiEvent): Request {
  const { routeKey, rawQueryString, requestContext, ...event } = parsed;
  const rawPath = parsed.rawPath === ZAQAR_HOME ? HOME : parsed.rawPath;
  const { method: asked } = requestContext.http;
  const method = FORBIDDEN_METHODS.has(asked) ? 'OPTIONS' : asked;
  // The decoded path holds these as parts of a segment; in a URL they would end the path, or be decoded again.
  const path =
    !isCanonical(rawPath) || !isServedBy(routeKey, rawPath)
      ? UNROUTED_PATH
      : rawPath.replace(/[%?#\\]/g, encodeURIComponent);
  const body = method === 'GET' || method === 'HEAD' ? undefined : bytesOf(event);
  return new Request(`https://api.invalid${path}?${rawQueryString}`, { method, ...(body && { body }) });
}

/**
 * Whether this is the one way to write its path. API Gateway authorised the caller for the path as it came: another spelling
 * may have passed a policy that allows or denies this one. `..` must not lead to another queue, and `orders/` is not `orders`.
 */
function isCanonical(path: string): boolean {
  const segments = path === '/' ? [] : path.split('/').slice(1);
  return !/\p{Cc}/u.test(path) && segments.every((segment) => !/^(?:(?:\.|%2e){1,2})?$/i.test(segment));
}

/** API Gateway authorises no caller of an open route, so such an event reaches open paths only, however it spells them. */
function isServedBy(routeKey: string, path: string): boolean {
  return routeKey === DEFAULT_ROUTE || isOpenPath(path);
}

/** How Zaqar's own client spells the path of the home document, which is about no queue. */
const ZAQAR_HOME = '/v2/';
const HOME = '/v2';

/** No route leads here. */
const UNROUTED_PATH = '/unrouted';

function bytesOf({ body, isBase64Encoded }: Pick<HttpApiEvent, 'body' | 'isBase64Encoded'>) {
  return Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8');
}

function principalOf({ requestContext: { authorizer } }: HttpApiEvent): string {
  return authorizer?.iam?.userArn ?? authorizer?.jwt?.claims?.['sub'] ?? 'anonymous';
}
