import * as z from 'zod';
import { DEFAULT_ROUTE, isOpenPath, isServedBy } from '../../shared/config/open-routes.ts';
import { parseTraceContext } from '../../shared/domain/message/trace-context.ts';
import type { Caller } from './audit.ts';
import type { Api } from './dependencies.ts';
import type { Claims } from './permission.ts';

/**
 * The fields that are read of an HTTP API event, payload format 2.0. Zaqar's `Client-ID` and `X-Project-ID` are
 * ignored.
 */
const httpApiEvent = z.object({
  routeKey: z.string().default(DEFAULT_ROUTE),
  rawPath: z.string(),
  rawQueryString: z.string().default(''),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().default(false),
  headers: z
    .object({
      host: z.string().exactOptional(),
      authorization: z.string().exactOptional(),
      traceparent: z.string().exactOptional(),
      tracestate: z.string().exactOptional(),
    })
    .default({}),
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
 * The API's response to an event. Internal errors are responses too.
 * @param publicApiUrl where callers reach the API, if not at its API Gateway domain
 * @throws ZodError for an event that is not from an HTTP API; the invocation fails
 */
export async function answerHttpApi(api: Api, event: unknown, publicApiUrl?: string): Promise<HttpApiAnswer> {
  const { request, ...bindings } = parseHttpApiEvent(event, publicApiUrl);
  return httpApiAnswer(await api.fetch(request, bindings));
}

/**
 * The request in an event. The `$default` stage passes the path decoded and without a stage name.
 * @param publicApiUrl where callers reach the API, if not at its API Gateway domain
 * @throws ZodError for an event that is not from an HTTP API
 */
export function parseHttpApiEvent(event: unknown, publicApiUrl?: string): ApiRequest {
  const parsed = httpApiEvent.parse(event);
  const { requestId, authorizer } = parsed.requestContext;
  const claims = authorizer?.jwt?.claims;
  return {
    request: toRequest(parsed),
    caller: { principal: namePrincipal(parsed), requestId },
    ...(claims && { claims }),
    publicUrl: buildPublicUrl(parsed, publicApiUrl),
  };
}

function buildPublicUrl({ headers, requestContext }: HttpApiEvent, publicApiUrl?: string): string {
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

/** The Request constructor refuses these (Fetch §2.2.1). They become OPTIONS, which no route has either. */
const FORBIDDEN_METHODS: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** Drops the body of a GET, because Request does not allow one. */
function toRequest(parsed: HttpApiEvent): Request {
  const { routeKey, rawQueryString, requestContext, ...event } = parsed;
  const rawPath = parsed.rawPath === ZAQAR_HOME ? HOME : parsed.rawPath;
  const { method: asked } = requestContext.http;
  const method = FORBIDDEN_METHODS.has(asked) ? 'OPTIONS' : asked;
  // API Gateway does not authorise callers of open routes, so their events may reach only their paths.
  // In the decoded path these are part of a segment. In a URL they would end the path or be decoded again.
  const path =
    !isCanonical(rawPath) || !isServedBy(routeKey, rawPath)
      ? UNROUTED_PATH
      : rawPath.replace(/[%?#\\]/g, encodeURIComponent);
  const body = method === 'GET' || method === 'HEAD' ? undefined : decodeBody(event);
  const headers = { ...pickAuthorization(parsed.headers, rawPath), ...parseTraceContext(parsed.headers) };
  return new Request(`https://api.invalid${path}?${rawQueryString}`, {
    method,
    headers,
    ...(body && { body }),
  });
}

/** Only a token of a subscription concerns the function; API Gateway checks all others. */
function pickAuthorization(
  { authorization = '' }: HttpApiEvent['headers'],
  path: string,
): { authorization?: string } {
  return HEADER_TEXT.test(authorization) && isOpenPath(path) ? { authorization } : {};
}

/** Printable ASCII: Request throws for text that is no header. */
const HEADER_TEXT = /^[\x20-\x7e]+$/;

/**
 * Whether the path is spelled in the only accepted way. API Gateway authorised the caller for the path as sent, so
 * another spelling could bypass an IAM policy. `..` must not lead to another queue, and `orders/` is not `orders`.
 */
function isCanonical(path: string): boolean {
  const segments = path === '/' ? [] : path.split('/').slice(1);
  return !/\p{Cc}/u.test(path) && segments.every((segment) => !/^(?:(?:\.|%2e){1,2})?$/i.test(segment));
}

/** How python-zaqarclient spells the path of the home document. */
const ZAQAR_HOME = '/v2/';
const HOME = '/v2';

/** No route leads here. */
const UNROUTED_PATH = '/unrouted';

function decodeBody({ body, isBase64Encoded }: Pick<HttpApiEvent, 'body' | 'isBase64Encoded'>) {
  return Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8');
}

function namePrincipal({ requestContext: { authorizer } }: HttpApiEvent): string {
  return authorizer?.iam?.userArn ?? authorizer?.jwt?.claims?.['sub'] ?? 'anonymous';
}
