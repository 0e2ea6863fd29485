import * as z from 'zod';
import type { Caller } from './audit.ts';

/** What we use of an HTTP API's event, payload format 2.0. No header means anything to us, Zaqar's own two included. */
const httpApiEvent = z.object({
  rawPath: z.string(),
  rawQueryString: z.string().default(''),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().default(false),
  requestContext: z.object({
    requestId: z.string(),
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

/**
 * @throws ZodError for an event that no HTTP API sent. The path is as the `$default` stage gives it, without a stage in
 * front, and already decoded.
 */
export const parseHttpApiEvent = (event: unknown): { request: Request; caller: Caller } => {
  const parsed = httpApiEvent.parse(event);
  const { requestId } = parsed.requestContext;
  return { request: requestOf(parsed), caller: { principal: principalOf(parsed), requestId } };
};

export const httpApiAnswer = async (response: Response): Promise<HttpApiAnswer> => ({
  statusCode: response.status,
  headers: Object.fromEntries(response.headers),
  body: await response.text(),
});

/** Request refuses to be made with these (Fetch §2.2.1). OPTIONS, like them, is a method of no route. */
const UNBUILDABLE: ReadonlySet<string> = new Set(['CONNECT', 'TRACE', 'TRACK']);

/** A body that comes with GET is left behind: Request has no room for it, and no route reads it. */
const requestOf = ({ rawPath, rawQueryString, requestContext, ...event }: HttpApiEvent): Request => {
  const { method: asked } = requestContext.http;
  const method = UNBUILDABLE.has(asked) ? 'OPTIONS' : asked;
  // Decoded, these are part of a segment; in a URL they would end the path, or be decoded once more.
  const path = isAmbiguous(rawPath) ? NOWHERE : rawPath.replace(/[%?#\\]/g, encodeURIComponent);
  const body = method === 'GET' || method === 'HEAD' ? undefined : bytesOf(event);
  return new Request(`https://api.invalid${path}?${rawQueryString}`, { method, ...(body && { body }) });
};

/**
 * A path that the URL parser would change into another one: API Gateway has authorised the caller for the path as it
 * came, and a queue's boundary must not be crossed by `..` behind its back.
 */
const isAmbiguous = (path: string): boolean =>
  /\p{Cc}/u.test(path) || path.split('/').some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));

/** No route leads here. */
const NOWHERE = '/';

const bytesOf = ({ body, isBase64Encoded }: Pick<HttpApiEvent, 'body' | 'isBase64Encoded'>) =>
  Buffer.from(body ?? '', isBase64Encoded ? 'base64' : 'utf8');

const principalOf = ({ requestContext: { authorizer } }: HttpApiEvent): string =>
  authorizer?.iam?.userArn ?? authorizer?.jwt?.claims?.sub ?? 'anonymous';
