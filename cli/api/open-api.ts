import { pollInterval } from '../../shared/domain/retry/poll-interval.ts';
import type { DeploymentChoice } from '../deployment.ts';
import { failureText, fetchFailure } from '../failure-report.ts';
import { printable } from '../output/printable.ts';
import { systemSleep, type Terminal } from '../terminal.ts';
import { Problem } from '../../local/install/problem.mjs';
import { type ApiAnswer, type ApiClient, type ApiRequest, clientBy } from '../../api-client/api-client.ts';
import { ApiRefusal, isAnswer } from '../../api-client/refusal.ts';
import { type ApiAccess, findApi } from './api-access.ts';
import { namingMissingQueues, resolveSubscription } from './find-subscription.ts';

/** API Gateway itself times out after 30 s. */
const TIMEOUT_MS = 35_000;

const MAX_TRIES = 4;
/** Seconds between tries. */
const INTERVAL = { floor: 0.2, ceiling: 2, exponent: 3 };

/** API Gateway's status when its limits are reached; the function has not seen the request. */
const THROTTLED = 429;

/** API Gateway's statuses when the function failed or did not answer. */
const TRANSIENT: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** The API for a command that reads. */
export async function openApi(
  choice: DeploymentChoice,
  { env, sleep }: Pick<Terminal, 'env' | 'sleep'>,
): Promise<ApiClient> {
  return namingMissingQueues(apiClient(await findApi(choice, env), sleep));
}

/** The API for a command that writes: says on stderr where. With `--json`, stderr is for a failure only. */
export async function openApiToWrite(
  { json, ...choice }: DeploymentChoice & { json?: true },
  { env, sleep, printError }: Pick<Terminal, 'env' | 'sleep' | 'printError'>,
): Promise<ApiClient> {
  const access = await findApi(choice, env);
  if (json !== true) printError(`→ ${printable(access.place ?? access.name)}`);
  return namingMissingQueues(apiClient(access, sleep));
}

/** The same, and the path of the subscription that the user means. @throws as `resolveSubscription` */
export async function openSubscription(
  queue: string,
  reference: string,
  options: Parameters<typeof openApiToWrite>[0],
  terminal: Parameters<typeof openApiToWrite>[1],
) {
  const api = await openApiToWrite(options, terminal);
  return { api, path: { queue, subscription: await resolveSubscription(api, queue, reference) } };
}

export function apiClient(access: ApiAccess, sleep = systemSleep): ApiClient {
  return clientBy(access.name, async (request) => {
    let interval = pollInterval(INTERVAL);
    for (let tries = 1; ; tries += 1) {
      const outcome = await sendOnce(access, request);
      if (outcome.kind === 'answer') return outcome.answer;
      if (tries === MAX_TRIES || !mayRetry(request, outcome)) throw outcome.failure;
      // With jitter, so that commands that failed together do not retry together.
      await sleep(interval.wait * 1000 * (0.5 + Math.random() / 2), request.signal);
      interval = interval.afterEmpty();
    }
  });
}

function mayRetry(
  { method, repeatable = method !== 'POST' && method !== 'PATCH' }: ApiRequest,
  { kind }: Outcome,
): boolean {
  return kind === 'throttled' || (kind === 'transient' && repeatable);
}

/** `transient`: another try may succeed. `throttled`: the same, and the API has not processed the request. */
type Outcome =
  { kind: 'answer'; answer: ApiAnswer } | { kind: 'refused' | 'transient' | 'throttled'; failure: Error };

async function sendOnce(access: ApiAccess, request: ApiRequest): Promise<Outcome> {
  const { method, path, search, body, contentType = 'application/json', signal } = request;
  const content = new Headers(body === undefined ? {} : { 'content-type': contentType });
  const url = access.apiUrl + path + search;
  const call = { method, url, headers: content, ...(body !== undefined && { body }) };
  const authorized = await access.authorize(call);
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      ...call,
      headers: authorized,
      // The API never redirects, and a signature must not be sent to another host.
      redirect: 'error',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const { status, headers } = response;
    return outcomeOf(request, { status, text: await response.text(), headers });
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    return { kind: 'transient', failure: new NoAnswerProblem(access, cause) };
  }
}

function outcomeOf(request: ApiRequest, answer: ApiAnswer): Outcome {
  if (isAnswer(request, answer)) return { kind: 'answer', answer };
  const { status, text } = answer;
  const failure = new ApiRefusal(`${request.method} ${request.path}`, status, text);
  if (status === THROTTLED) return { kind: 'throttled', failure };
  return { kind: TRANSIENT.has(status) ? 'transient' : 'refused', failure };
}

/** The API cannot be reached, or the connection broke. */
export class NoAnswerProblem extends Problem {
  constructor({ name, apiUrl, isLocal }: ApiAccess, cause: unknown) {
    const reason = failureText(fetchFailure(cause));
    const advice = isLocal ? ' If it is not running, start it again: its last run did not end cleanly.' : '';
    super(`The API of ${name} does not respond at ${apiUrl}: ${reason}.${advice}`, { cause });
  }
}
