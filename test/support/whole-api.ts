import { unescape } from 'node:querystring';
import { createApi } from '../../functions/api/app.ts';
import type { Caller } from '../../functions/api/audit.ts';
import type { ApiDependencies, SecretDependencies } from '../../functions/api/dependencies.ts';
import { answerHttpApi } from '../../functions/api/http-api-event.ts';
import type { Api } from '../../functions/api/serve.ts';

export type WholeDependencies = ApiDependencies & SecretDependencies;

/** All routes of the API, which two functions serve in AWS. */
export const wholeApi = (dependencies: WholeDependencies): Api => createApi(dependencies, dependencies);

/** The response to a request, which reaches the API as an event of API Gateway. */
export const requestApi = async (
  api: Api,
  path: string | URL,
  init: RequestInit,
  { caller, publicUrl }: { caller: Caller; publicUrl: string },
): Promise<Response> => {
  const event = await toHttpApiEvent(new Request(new URL(path, publicUrl), init), {
    requestId: caller.requestId,
    authorizer: { iam: { userArn: caller.principal } },
  });
  const { statusCode: status, headers, body } = await answerHttpApi(api, event, publicUrl);
  return new Response(body === '' ? null : body, { status, headers });
};

/** A request as API Gateway passes it to a function. */
export const toHttpApiEvent = async (
  request: Request,
  context: { requestId: string; authorizer?: object },
) => {
  const { pathname, search } = new URL(request.url);
  return {
    // An encoded slash stays in its segment.
    rawPath: unescape(pathname.replaceAll(/%(?=2f)/gi, '%25')),
    rawQueryString: search.slice(1),
    headers: Object.fromEntries(request.headers),
    body: Buffer.from(await request.arrayBuffer()).toString('base64'),
    isBase64Encoded: true,
    requestContext: { ...context, http: { method: request.method } },
  };
};
