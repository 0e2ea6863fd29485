import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ApiAccess, CredentialsProblem } from '../api/api-access.ts';
import { boundedBody } from '../bounded-body.ts';
import { failureText, fetchFailure } from '../failure-report.ts';
import { refuse, type Refusal } from './loopback-server.ts';

/** Payload limit of API Gateway (Amazon API Gateway quotas). The body is buffered because the signature covers it. */
const MAX_BYTES = 10 * 1024 * 1024;
/** API Gateway itself times out after 30 s. */
const TIMEOUT_MS = 35_000;

/**
 * Request headers that are forwarded. None that identify a caller: the request is signed with the user's credentials.
 */
const FORWARDED_HEADERS = ['accept', 'content-type', 'client-id', 'x-project-id', 'user-agent'];
/** Response headers that are returned. Lengths and encodings belong to each connection. */
const RETURNED_HEADERS = ['content-type', 'location', 'allow', 'retry-after', 'cache-control'];

/** Bodies of these methods are dropped: fetch sends none, and the API reads none. Zaqar's client sends one with GET. */
const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Signs a request and sends it to the API. `path` is relative to the API's URL. */
export async function sendSigned(
  { apiUrl, authorize }: ApiAccess,
  request: IncomingMessage,
  path: string,
): Promise<Response | Refusal> {
  const body = await boundedBody(request, MAX_BYTES);
  if (body === undefined)
    return { status: 413, code: 'too_large', message: `the body exceeds ${MAX_BYTES} bytes` };
  const { method = 'GET' } = request;
  const call = {
    method,
    url: apiUrl + path,
    headers: pickForwardedHeaders(request),
    ...(body.length > 0 && !BODILESS.has(method) && { body }),
  };
  try {
    const headers = await authorize(call);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    return await fetch(call.url, { ...call, headers, redirect: 'manual', signal });
  } catch (error) {
    return refusalFromFailure(error);
  }
}

/** The refusal that describes a request without a complete response. */
export function refusalFromFailure(error: unknown): Refusal {
  if (error instanceof CredentialsProblem) return { status: 502, code: error.code, message: error.message };
  const cause = fetchFailure(error);
  if (cause instanceof DOMException && cause.name === 'TimeoutError')
    return { status: 504, code: 'timeout', message: `the API did not respond within ${TIMEOUT_MS / 1000} s` };
  return { status: 502, code: 'unreachable', message: `the API does not respond: ${failureText(cause)}` };
}

/**
 * Sends the response to the caller after reading all of it. Responses of API Gateway are small, and a caller that
 * disconnects meanwhile then leaves no stream open that could fail later.
 */
export async function relay(answer: Response | Refusal, response: ServerResponse): Promise<void> {
  const whole = answer instanceof Response ? await buffered(answer) : answer;
  if (response.destroyed) return;
  if ('body' in whole) response.writeHead(whole.status, whole.headers).end(whole.body);
  else refuse(response, whole);
}

async function buffered(answer: Response) {
  const returned = [...answer.headers].filter(([name]) => RETURNED_HEADERS.includes(name));
  // Browsers must not guess another content type.
  const headers = { ...Object.fromEntries(returned), 'x-content-type-options': 'nosniff' };
  try {
    return { status: answer.status, headers, body: await answer.bytes() };
  } catch (error) {
    return refusalFromFailure(error);
  }
}

function pickForwardedHeaders({ headers }: IncomingMessage): Headers {
  return new Headers(
    FORWARDED_HEADERS.flatMap((name): [string, string][] => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  );
}
