import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ApiAccess, CredentialsProblem } from '../api/api-access.ts';
import { boundedBody } from '../bounded-body.ts';
import { failureText } from '../failure-text.ts';
import { refuse, type Refusal } from './refusal.ts';

/** What API Gateway takes (Amazon API Gateway quotas). The body has to be there whole: the signature covers it. */
const MOST_BYTES = 10 * 1024 * 1024;
/** API Gateway gives an answer within 30 s, or gives up. */
const TIMEOUT_MS = 35_000;

/** What goes along. Nothing by which a program could be somebody else: the signature is ours. */
const FORWARDED = ['accept', 'content-type', 'client-id', 'x-project-id', 'user-agent'];
/** What comes back. Lengths and encodings are this connection's own. */
const RETURNED = ['content-type', 'location', 'allow', 'retry-after', 'cache-control'];

/** What comes with these is left behind: fetch sends none, and the API reads none. Zaqar's own client leaves one there. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Signs a request and makes it. `path`: under the API's URL. */
export async function forward(
  { apiUrl, authorize }: ApiAccess,
  request: IncomingMessage,
  path: string,
): Promise<Response | Refusal> {
  const body = await boundedBody(request, MOST_BYTES);
  if (body === undefined) {
    return { status: 413, code: 'too_large', message: `the body is over ${MOST_BYTES} bytes` };
  }
  const { method = 'GET' } = request;
  const call = {
    method,
    url: apiUrl + path,
    headers: forwardedOf(request),
    ...(body.length > 0 && !BODILESS.has(method) && { body }),
  };
  try {
    const headers = await authorize(call);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return await fetch(call.url, { ...call, headers, redirect: 'manual', signal });
  } catch (error) {
    return noAnswer(error);
  }
}

/** Why there is no answer, or not all of one. */
export function noAnswer(error: unknown): Refusal {
  if (error instanceof CredentialsProblem) return { status: 502, code: error.code, message: error.message };
  const cause = error instanceof TypeError ? (error.cause ?? error) : error;
  if (cause instanceof DOMException && cause.name === 'TimeoutError') {
    return { status: 504, code: 'timeout', message: `the API has not answered for ${TIMEOUT_MS / 1000} s` };
  }
  return { status: 502, code: 'unreachable', message: `the API does not answer: ${failureText(cause)}` };
}

/**
 * Gives the caller what came of it, once all of it is there: API Gateway's answers are small, and a caller that went away
 * meanwhile leaves nothing behind that could fail later.
 */
export async function relay(answer: Response | Refusal, response: ServerResponse): Promise<void> {
  const whole = answer instanceof Response ? await wholeOf(answer) : answer;
  if (response.destroyed) return;
  if ('body' in whole) response.writeHead(whole.status, whole.headers).end(whole.body);
  else refuse(response, whole);
}

type Whole = { status: number; headers: Record<string, string>; body: Uint8Array };

async function wholeOf(answer: Response): Promise<Whole | Refusal> {
  try {
    return { status: answer.status, headers: headersOf(answer.headers), body: await answer.bytes() };
  } catch (error) {
    return noAnswer(error);
  }
}

function forwardedOf({ headers }: IncomingMessage): Headers {
  return new Headers(
    FORWARDED.flatMap((name): [string, string][] => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}

function headersOf(headers: Headers): Record<string, string> {
  return {
    ...Object.fromEntries(
      RETURNED.flatMap((name) => {
        const value = headers.get(name);
        return value === null ? [] : [[name, value]];
      }),
    ),
    // A browser shall take an answer for nothing but what it says it is.
    'x-content-type-options': 'nosniff',
  };
}
