import { pollInterval, type PollInterval } from '../../shared/domain/retry/poll-interval.ts';
import type { DeploymentChoice } from '../deployment.ts';
import { failureText } from '../failure-text.ts';
import { systemSleep, type Terminal } from '../terminal.ts';
import { Problem } from '../../local/install/problem.mjs';
import { findApi, type ApiAccess, type ApiCall } from './api-access.ts';
import { ApiRefusal, isAnswer } from './api-refusal.ts';
import { searchOf, type ApiAnswer, type ApiClient, type ApiRequest } from './api-request.ts';
import { parsedAnswer } from './parsed-answer.ts';

/** API Gateway gives an answer within 30 s, or gives up. */
const TIMEOUT_MS = 35_000;

const MOST_TRIES = 4;
/** Seconds between them. */
const INTERVAL = { floor: 0.2, ceiling: 2, exponent: 3 };

/** What API Gateway says where its limits are reached; the function has not seen the request. */
const TURNED_AWAY = 429;

/** What it says of a function that has not answered. */
const PASSING: ReadonlySet<number> = new Set([500, 502, 503, 504]);

export async function openApi(
  choice: DeploymentChoice,
  { env, sleep }: Pick<Terminal, 'env' | 'sleep'>,
): Promise<ApiClient> {
  return apiClient(await findApi(choice, env), sleep);
}

export function apiClient(access: ApiAccess, sleep = systemSleep): ApiClient {
  const send = async (request: ApiRequest): Promise<ApiAnswer> => {
    let interval = pollInterval(INTERVAL);
    for (let tries = 1; ; tries += 1) {
      const outcome = await once(access, request);
      if (outcome.kind === 'answer') return outcome.answer;
      if (tries === MOST_TRIES || !mayComeAgain(request, outcome)) throw outcome.failure;
      await sleep(waitOf(interval), request.signal);
      interval = interval.afterEmpty();
    }
  };
  return {
    name: access.name,
    send,
    call: async (request, schema) => parsedAnswer(await send(request), request, schema),
  };
}

function mayComeAgain(request: ApiRequest, { kind }: Outcome): boolean {
  return kind === 'turned_away' || (kind === 'passing' && isRepeatable(request));
}

function isRepeatable({ method, repeatable = method !== 'POST' && method !== 'PATCH' }: ApiRequest): boolean {
  return repeatable;
}

/** Milliseconds, with some chance in it, so that commands that failed together do not come again together. */
function waitOf({ wait }: PollInterval): number {
  return wait * 1000 * (0.5 + Math.random() / 2);
}

/** `passing`: it may be different at another try. `turned_away`: so may it, and nothing has happened yet. */
type Outcome =
  | { kind: 'answer'; answer: ApiAnswer }
  | { kind: 'refused'; failure: ApiRefusal }
  | { kind: 'passing' | 'turned_away'; failure: Error };

async function once(access: ApiAccess, request: ApiRequest): Promise<Outcome> {
  const { method, path, query = {}, signal } = request;
  const call = { method, url: access.apiUrl + path + searchOf(query), ...contentOf(request) };
  const headers = await access.authorize(call);
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(call.url, {
      ...call,
      headers,
      // Ours never redirects, and a signature must not go anywhere else.
      redirect: 'error',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    return outcomeOf(request, {
      status: response.status,
      text: await response.text(),
      headers: response.headers,
    });
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    return { kind: 'passing', failure: noAnswer(access, cause) };
  }
}

function contentOf({
  body,
  contentType = 'application/json',
}: ApiRequest): Pick<ApiCall, 'headers' | 'body'> {
  return body === undefined
    ? { headers: new Headers() }
    : { headers: new Headers({ 'content-type': contentType }), body };
}

function outcomeOf(request: ApiRequest, answer: ApiAnswer): Outcome {
  if (isAnswer(request, answer)) return { kind: 'answer', answer };
  const { method, path } = request;
  const { status, text } = answer;
  const failure = new ApiRefusal(`${method} ${path}`, status, text);
  if (status === TURNED_AWAY) return { kind: 'turned_away', failure };
  return { kind: PASSING.has(status) ? 'passing' : 'refused', failure };
}

/** What fetch throws says nothing; its cause does. */
function noAnswer({ name, apiUrl }: ApiAccess, cause: unknown): Problem {
  const reason = cause instanceof TypeError && cause.cause !== undefined ? cause.cause : cause;
  return new Problem(`The API of ${name} does not answer at ${apiUrl}: ${failureText(reason)}.`, { cause });
}
