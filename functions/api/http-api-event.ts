import * as z from 'zod';
import { DEFAULT_ROUTE, isOpenPath, isServedBy } from '../../shared/config/open-routes.ts';
import { parseTraceContext } from '../../shared/domain/message/trace-context.ts';
import type { ApiRequest } from './route.ts';
import type { Api } from './serve.ts';

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

/** The API's response to an event, also to an internal error. @throws what `parseHttpApiEvent` throws */
export async function answerHttpApi(api: Api, event: unknown, publicApiUrl?: string): Promise<HttpApiAnswer> {
  const request = parseHttpApiEvent(event, publicApiUrl);
  const { status = 200, headers = {}, body = '' } = await api.answer(request);
  return { statusCode: status, headers, body: request.method === 'HEAD' ? '' : body };
}

/**
 * The request in an event. The `$default` stage passes the path decoded and without a stage name.
 * @param publicApiUrl where callers reach the API, if not at its API Gateway domain
 * @throws ZodError for an event that is not from an HTTP API
 */
export function parseHttpApiEvent(event: unknown, publicApiUrl?: string): ApiRequest {
  const parsed = httpApiEvent.parse(event);
  const { requestId, authorizer, http } = parsed.requestContext;
  const claims = authorizer?.jwt?.claims;
  return {
    method: http.method,
    path: routedPath(parsed),
    query: parseQuery(parsed.rawQueryString),
    headers: { ...pickAuthorization(parsed), ...parseTraceContext(parsed.headers) },
    body: Buffer.from(parsed.body ?? '', parsed.isBase64Encoded ? 'base64' : 'utf8'),
    caller: { principal: namePrincipal(parsed), requestId },
    ...(claims && { claims }),
    ...pickCallerArn(parsed),
    publicUrl: buildPublicUrl(parsed, publicApiUrl),
  };
}

function buildPublicUrl({ headers, requestContext }: HttpApiEvent, publicApiUrl?: string): string {
  const { apiId, domainName } = requestContext;
  if (publicApiUrl === undefined) return `https://${domainName}`;
  const { host = domainName } = headers;
  return publicApiUrl.replaceAll('{host}', () => host).replaceAll('{apiId}', () => apiId);
}

/** API Gateway does not authorise callers of open routes, so their events may reach only their paths. */
function routedPath({ routeKey, rawPath }: HttpApiEvent): string {
  const path = rawPath === ZAQAR_HOME ? HOME : rawPath.toWellFormed();
  return isCanonical(path) && isServedBy(routeKey, path) ? path : UNROUTED_PATH;
}

function parseQuery(text: string): Record<string, string> {
  const query = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text))
    if (name !== '' && !query.has(name)) query.set(name, value);
  return Object.fromEntries(query);
}

/** Only a token of a subscription concerns the function; API Gateway checks all others. */
function pickAuthorization({ headers, rawPath }: HttpApiEvent): { authorization?: string } {
  const { authorization } = headers;
  return authorization !== undefined && isOpenPath(rawPath) ? { authorization } : {};
}

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

function pickCallerArn({ requestContext: { authorizer } }: HttpApiEvent): { callerArn?: string } {
  const callerArn = authorizer?.iam?.userArn;
  return typeof callerArn === 'string' ? { callerArn } : {};
}

function namePrincipal({ requestContext: { authorizer } }: HttpApiEvent): string {
  return authorizer?.iam?.userArn ?? authorizer?.jwt?.claims?.['sub'] ?? 'anonymous';
}
