import type { ApiAnswer, ApiRequest, Send } from '../../../api-client/api-client.ts';
import { ApiRefusal, isAnswer } from '../../../api-client/refusal.ts';
import type { limitConcurrency } from '../../../shared/adapters/in-parallel.ts';

/** Longer than the server of the page waits for the API, so that its timeout error arrives first. */
export const TIMEOUT_MS = 40_000;

/** A browser opens six connections to a host. Requests beyond that wait here, where they can be aborted. */
export const MAX_CONCURRENT = 6;

/** The server of the page does not respond. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse';

  constructor(cause: unknown) {
    super('the server of this page does not respond', { cause });
  }
}

/** How the requests of a page reach the API: by the server that served the page. */
export type PageServer = {
  urlFor: (request: ApiRequest) => string;
  /** Of each request, with the session. */
  headers: () => Record<string, string>;
  onRefusal: (refusal: ApiRefusal) => void;
};

type Slots = ReturnType<typeof limitConcurrency>;

/** `slots`: shared by all requests of a page. */
export function sendBy(server: PageServer, slots: Slots): Send {
  return (request) => slots(() => once(server, request), request.signal);
}

async function once(server: PageServer, request: ApiRequest): Promise<ApiAnswer> {
  const { method, path, body, contentType = 'application/json', signal } = request;
  const headers = new Headers(server.headers());
  if (body !== undefined) headers.set('content-type', contentType);
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await answerTo(server.urlFor(request), {
    method,
    headers,
    ...(body !== undefined && { body }),
    signal: AbortSignal.any([...(signal === undefined ? [] : [signal]), timeout]),
  });
  if (isAnswer(request, answer)) return answer;
  const refusal = new ApiRefusal(`${method} ${path}`, answer.status, answer.text);
  server.onRefusal(refusal);
  throw refusal;
}

export async function answerTo(url: string, init: RequestInit): Promise<ApiAnswer> {
  try {
    const response = await fetch(url, { ...init, cache: 'no-store', redirect: 'error' });
    return { status: response.status, text: await response.text(), headers: response.headers };
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
    throw new NoResponse(cause);
  }
}
