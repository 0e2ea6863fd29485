import * as z from 'zod';
import { DEFAULT_ROUTE, isOpenPath } from '../../shared/config/open-routes.ts';
import type { Caller } from './audit.ts';

/** What we use of an HTTP API's event, payload format 2.0. Zaqar's own two headers mean nothing to us. */
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
        jwt: z.object({ claims: z.object({ sub: z.string().nullish() }).nullish() }).nullish(),
      })
      .nullish(),
  }),
});

type HttpApiEvent = z.infer<typeof httpApiEvent>;

/** Payload format 2.0. */
export type HttpApiAnswer = { statusCode: number; headers: Record<string, string>; body: string };

export type ApiRequest = { request: Request; caller: Caller; publicUrl: string };

/**
 * @param publicApiUrl where the API is reached from outside, if not at its own domain
 * @throws ZodError for an event that no HTTP API sent. The path is as the `$default` stage gives it, without a stage in
 * front, and already decoded.
 */
export function parseHttpApiEvent(event: unknown, publicApiUrl?: string): ApiRequest {
  const parsed = httpApiEvent.parse(event);
  const { requestId } = parsed.requestContext;
  return {
    request: requestOf(parsed),
    caller: { principal: principalOf(parsed), requestId },
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

/** Request refuses to be made with these (Fetch §2.2.1). OPTIONS, like them, is a method of no route. */
const UNBUILDABLE: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** A body that comes with GET is left behind: Request has no room for it, and no route reads it. */
function requestOf(parsed: HttpApiEvent): Request {
  const { routeKey, rawPath, rawQueryString, requestContext, ...event } = parsed;
  const { method: asked } = requestContext.http;
  const method = UNBUILDABLE.has(asked) ? 'OPTIONS' : asked;
  // Decoded, these are part of a segment; in a URL they would end the path, or be decoded once more.
  const path =
    isAmbiguous(rawPath) || !isServedBy(routeKey, rawPath)
      ? NOWHERE
      : rawPath.replace(/[%?#\\]/g, encodeURIComponent);
  const body = method === 'GET' || method === 'HEAD' ? undefined : bytesOf(event);
  return new Request(`https://api.invalid${path}?${rawQueryString}`, { method, ...(body && { body }) });
}

/**
 * A path that the URL parser would change into another one: API Gateway has authorised the caller for the path as it
 * came, and a queue's boundary must not be crossed by `..` behind its back.
 */
function isAmbiguous(path: string): boolean {
  return /\p{Cc}/u.test(path) || path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}

/** Nobody was authorised for what came by an open route, so it reaches nothing else, however its path was written. */
function isServedBy(routeKey: string, path: string): boolean {
  return routeKey === DEFAULT_ROUTE || isOpenPath(path);
}

/** No route leads here. */
const NOWHERE = '/';

function bytesOf({ body, isBase64Encoded }: Pick<HttpApiEvent, 'body' | 'isBase64Encoded'>) {
  return Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8');
}

function principalOf({ requestContext: { authorizer } }: HttpApiEvent): string {
  return authorizer?.iam?.userArn ?? authorizer?.jwt?.claims?.sub ?? 'anonymous';
}
