import { type ApiAnswer, type ApiClient, type ApiRequest, clientBy } from '../../api-client/api-client.ts';
import { ApiRefusal, isAnswer } from '../../api-client/refusal.ts';
import { START } from '../../local/command-name.ts';
import { Problem } from '../../local/install/problem.mjs';
import {
  type ApiCall,
  type Credentials,
  type Identity,
  signedHeaders,
} from '../../shared/adapters/aws/signed-headers.ts';
import { pollInterval } from '../../shared/domain/retry/poll-interval.ts';
import { type Deployment, type DeploymentChoice, findDeployment } from '../deployment.ts';
import { failureText, fetchFailure } from '../failure-report.ts';
import type { DeploymentOptions } from '../options/deployment-options.ts';
import { printable } from '../output/text.ts';
import { systemSleep, type Terminal } from '../terminal.ts';
import { namingMissingQueues } from './find-subscription.ts';

/** The administration API of a deployment, and how calls to it are authorised. */
export type ApiAccess = {
  /** Display name. */
  name: string;
  /** The name with account and region, where these are known. */
  place?: string;
  /** Without a trailing slash. */
  apiUrl: string;
  /** Region of the signature; absent with a bearer token. */
  region?: string;
  isLocal: boolean;
  /** Returns the call's headers with a signature or a token. @throws CredentialsProblem without valid credentials */
  authorize: (call: ApiCall) => Promise<Headers>;
};

/**
 * Finds the API. `POSTHASTE_API_URL`, for an API with a custom domain name, skips the lookup in CloudFormation.
 * @throws Problem with advice when there is no deployment.
 */
export async function findApi(choice: DeploymentChoice, env: NodeJS.ProcessEnv): Promise<ApiAccess> {
  const given = givenUrl(env);
  if (given === undefined || choice.local === true) return resolveApi(await findDeployment(choice), env);
  return accessTo({ name: given, apiUrl: checkedUrl(given), client: {} }, env);
}

/**
 * The API by a token alone, without a deployment and AWS credentials. `url`: by default `POSTHASTE_API_URL`.
 * @throws Problem if there is no URL, or none that keeps the token secret
 */
export function accessByToken(url: string | undefined, token: string, env: NodeJS.ProcessEnv): ApiAccess {
  const given = url ?? givenUrl(env);
  if (given === undefined) throw new Problem('A token needs the URL of the API: --url or POSTHASTE_API_URL.');
  const { protocol, hostname } = new URL(checkedUrl(given, url && '--url'));
  if (protocol === 'http:' && !LOOPBACK.test(hostname))
    throw new Problem(`The token would be readable on its way to ${given}. Give an https URL.`);
  return { name: given, apiUrl: given.replace(/\/+$/, ''), isLocal: false, authorize: byToken(token) };
}

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|\[::1\]|(?:.+\.)?localhost)$/;

/**
 * Whether the SQS queues of `findDeployment` are those of the API of `findApi`. With `POSTHASTE_API_URL` they may be of
 * another deployment, unless the user names theirs.
 */
export function queuesBelongTo(choice: DeploymentChoice, env: NodeJS.ProcessEnv): boolean {
  return choice.local === true || choice.deployment !== undefined || givenUrl(env) === undefined;
}

function givenUrl(env: NodeJS.ProcessEnv): string | undefined {
  const given = env['POSTHASTE_API_URL'];
  return given === '' ? undefined : given;
}

/** The API of a known deployment. */
export function resolveApi(deployment: Deployment, env: NodeJS.ProcessEnv): Promise<ApiAccess> {
  const given = deployment.client.endpoint === undefined ? givenUrl(env) : undefined;
  return accessTo(given === undefined ? deployment : { ...deployment, apiUrl: checkedUrl(given) }, env);
}

function checkedUrl(text: string, name = 'POSTHASTE_API_URL'): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new Problem(`${name} must be an http or https URL without a query.`);
  // Not printed: they are secret.
  if (url.username !== '' || url.password !== '')
    throw new Problem(`${name} must not have a user or a password.`);
  return text;
}

/**
 * Uses POSTHASTE_TOKEN if it is set (`apiAuthorization: jwt`), otherwise Signature Version 4. A local deployment gets the
 * token only if it uses tokens: it is that of a deployment in AWS otherwise.
 */
async function accessTo(
  deployment: Pick<Deployment, 'name' | 'place' | 'apiUrl' | 'client' | 'apiAuthorization'>,
  env: NodeJS.ProcessEnv,
): Promise<ApiAccess> {
  const { name, place, apiUrl, client, apiAuthorization } = deployment;
  const takesTokens = client.endpoint === undefined || apiAuthorization === 'jwt';
  const token = takesTokens ? env['POSTHASTE_TOKEN'] : undefined;
  return {
    name,
    ...(place !== undefined && { place }),
    apiUrl: apiUrl.replace(/\/+$/, ''),
    isLocal: client.endpoint !== undefined,
    ...(token === undefined || token === ''
      ? signing(await resolveIdentity(client))
      : { authorize: byToken(token) }),
  };
}

function byToken(token: string): ApiAccess['authorize'] {
  // The error of Headers would print it.
  if (!/^[!-~]+$/.test(token.trim())) throw new Problem('The token must be one word of ASCII characters.');
  return ({ headers }) => {
    const authorized = new Headers(headers);
    authorized.set('authorization', `Bearer ${token}`);
    return Promise.resolve(authorized);
  };
}

function signing({ region, credentials }: Identity): Pick<ApiAccess, 'authorize' | 'region'> {
  const authorize = signedHeaders({ region, credentials: async () => notExpired(await credentials()) });
  return { region, authorize };
}

function notExpired(credentials: Credentials): Credentials {
  const { expiration } = credentials;
  if (expiration === undefined || expiration.getTime() > Date.now()) return credentials;
  const since = expiration.toISOString();
  throw new CredentialsProblem('credentials_expired', `Your AWS credentials expired at ${since}. ${RENEW}`);
}

const RENEW = 'Renew them, for example with aws sso login.';

async function resolveIdentity({ region, credentials }: Deployment['client']): Promise<Identity> {
  if (region !== undefined && credentials !== undefined) {
    return { region, credentials: () => Promise.resolve(credentials) };
  }
  // Any SDK client resolves region and credentials as the AWS CLI does; this one is already a dependency.
  const { CloudFormation } = await import('@aws-sdk/client-cloudformation');
  const { config } = new CloudFormation();
  const found = await config.region().catch((cause: unknown) => {
    const text = `No AWS region is configured: ${failureText(cause)}. Set AWS_REGION or AWS_PROFILE.`;
    throw new Problem(text, { cause });
  });
  return { region: found, credentials: () => config.credentials().catch(credentialsProblem) };
}

/** The SDK reports an expired session, such as SSO, only in the text of its error. */
function credentialsProblem(cause: unknown): never {
  const text = failureText(cause);
  const [code, message] = /expired/i.test(text)
    ? (['credentials_expired', `Your AWS credentials have expired: ${text}. ${RENEW}`] as const)
    : (['no_credentials', `No AWS credentials were found: ${text}. ${CONFIGURE}`] as const);
  throw new CredentialsProblem(code, message, { cause });
}

const CONFIGURE = 'Configure them as for the AWS CLI, or set POSTHASTE_TOKEN if the API expects a token.';

/** Requests cannot be signed: credentials are missing or expired. */
export class CredentialsProblem extends Problem {
  readonly code: 'no_credentials' | 'credentials_expired';

  constructor(code: CredentialsProblem['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

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
export async function openApi(choice: DeploymentChoice, { env, sleep }: Terminal): Promise<ApiClient> {
  return namingMissingQueues(apiClient(await findApi(choice, env), sleep));
}

/** The API for a command that writes: says on stderr where. With `--json`, stderr is for a failure only. */
export async function openApiToWrite(options: DeploymentOptions, terminal: Terminal): Promise<ApiClient> {
  const access = await findApi(options, terminal.env);
  if (options.json !== true) terminal.printError(`→ ${printable(access.place ?? access.name)}`);
  return namingMissingQueues(apiClient(access, terminal.sleep));
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
  | { kind: 'answer'; answer: ApiAnswer }
  | { kind: 'refused' | 'transient' | 'throttled'; failure: Error };

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
    return classifyAnswer(request, { status, text: await response.text(), headers });
  } catch (cause) {
    if (signal?.aborted === true) throw cause;
    return { kind: 'transient', failure: new NoAnswerProblem(access, cause) };
  }
}

function classifyAnswer(request: ApiRequest, answer: ApiAnswer): Outcome {
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
    const advice = isLocal ? ` If it has ended, start it again: ${START}` : '';
    super(`The API of ${name} does not respond at ${apiUrl}: ${reason}.${advice}`, { cause });
  }
}
