import type * as z from 'zod';
import {
  type ApiAnswer,
  type ApiClient,
  type ApiRequest,
  callBy,
  clientBy,
  type Send,
} from '../../../api-client/api-client.ts';
import { ApiRefusal, isAnswer } from '../../../api-client/refusal.ts';
import type { SessionToken } from '../session-token.ts';

/** Longer than the command waits for the API, so that the command's timeout error arrives first. */
const TIMEOUT_MS = 40_000;

/** A browser opens six connections to a host. Requests beyond that wait here, where they can be aborted. */
const MAX_CONCURRENT = 6;

/** The command that served the page no longer responds. */
export class ConsoleStopped extends Error {
  override readonly name = 'ConsoleStopped';

  constructor(cause: unknown) {
    super('the command that serves this page does not respond', { cause });
  }
}

export type PageClient = ApiClient & {
  /** Calls the command itself, which reads what the API does not show. The path is relative to /api-local. */
  local: <Answer>(path: string, schema: z.ZodType<Answer>, rest?: Partial<ApiRequest>) => Promise<Answer>;
};

/** Calls the administration API through the command that serves this page; the command signs the requests. */
export function pageClient(token: SessionToken): PageClient {
  const slots = limitConcurrency(MAX_CONCURRENT);
  const sendTo =
    (prefix: string): Send =>
    (request) =>
      slots(() => once(prefix, request, token), request.signal);
  return {
    ...clientBy('the API', sendTo('/api')),
    local: (path, schema, rest) =>
      callBy(sendTo('/api-local'), { method: 'GET', path, search: '', ...rest }, schema),
  };
}

/** Whether the command that serves this page takes the token. */
export async function isAccepted(token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return fetch('/api-local/info', { method: 'HEAD', headers, cache: 'no-store', signal }).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function once(prefix: string, request: ApiRequest, token: SessionToken): Promise<ApiAnswer> {
  const { method, path, search, body, contentType = 'application/json', signal } = request;
  const headers = new Headers(body === undefined ? {} : { 'content-type': contentType });
  if (token.value !== undefined) headers.set('authorization', `Bearer ${token.value}`);
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await answerTo(prefix + path + search, {
    method,
    headers,
    ...(body !== undefined && { body }),
    signal: AbortSignal.any([...(signal === undefined ? [] : [signal]), timeout]),
  });
  if (isAnswer(request, answer)) return answer;
  const refusal = new ApiRefusal(`${method} ${path}`, answer.status, answer.text);
  if (refusal.code === 'token_refused') token.forget();
  throw refusal;
}

async function answerTo(url: string, init: RequestInit): Promise<ApiAnswer> {
  try {
    const response = await fetch(url, { ...init, cache: 'no-store', redirect: 'error' });
    return { status: response.status, text: await response.text(), headers: response.headers };
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause;
    throw new ConsoleStopped(cause);
  }
}

/** Returns a runner for at most `count` tasks at once, in order. Tasks aborted while they wait are not started. */
export function limitConcurrency(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  const turn = async (): Promise<void> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
  };
  /** Hands the slot directly to the first waiter, so that a new caller cannot take it. */
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  };
  return async <Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> => {
    await turn();
    try {
      signal?.throwIfAborted();
      return await work();
    } finally {
      leave();
    }
  };
}
