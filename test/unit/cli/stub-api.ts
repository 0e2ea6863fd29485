import { AwsV4Signer } from 'aws4fetch';
import { onTestFinished } from 'vitest';
import { awsStub, type StubAnswer, type StubRequest } from '../../support/aws-stub.ts';
import { apiEnvironment, posthaste, type Line, type RunOptions } from './run-command.ts';

/** Answers by method and path without the query, such as `GET /v2/queues`. `index`: of the request among those. */
export type StubRoutes = Record<string, StubAnswer | ((request: StubRequest, index: number) => StubAnswer)>;

/**
 * An administration API on loopback, and a function that runs the command against it, until the end of the test. There
 * is a queue `orders`; unknown routes answer 404.
 */
export const stubApi = async (given: StubRoutes = {}) => {
  const api = await startStubApi(given);
  onTestFinished(api.close);
  return api;
};

/** Runs one command line against such an API. */
export const runOn = async (given: StubRoutes, line: Line, options?: RunOptions) => {
  const { run, requests, url } = await stubApi(given);
  return Object.assign(await run(line, options), { requests, url });
};

/** The same, for several tests: they must close it. */
export const startStubApi = async (given: StubRoutes) => {
  const routes: StubRoutes = { 'GET /v2/queues/orders': json({}), ...given };
  const counts = new Map<string, number>();
  const stub = await awsStub((request) => {
    const [path] = request.path.split('?');
    const route = `${request.method} ${path ?? ''}`;
    const index = counts.get(route) ?? 0;
    counts.set(route, index + 1);
    const answer = routes[route] ?? NOT_FOUND;
    return typeof answer === 'function' ? answer(request, index) : answer;
  });
  const url = stub.config.endpoint;
  return {
    url,
    requests: stub.requests,
    close: stub.close,
    run: (line: Line, { env, ...options }: RunOptions = {}) =>
      posthaste(line, { ...options, env: { ...apiEnvironment(url), ...env } }),
  };
};

export const json = (value: unknown, status = 200, headers: Record<string, string> = {}): StubAnswer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(value),
});

export const refusal = (
  status: number,
  code: string,
  message: string,
  fields?: { field: string; message: string }[],
): StubAnswer => json({ error: { code, message, ...(fields && { fields }) } }, status);

export const NO_CONTENT: StubAnswer = { status: 204, body: '' };
export const FORBIDDEN = json({ message: 'Forbidden' }, 403);
export const NOT_FOUND = refusal(404, 'not_found', 'there is none of this name');

/** A link to the next page. */
export const MORE = [{ rel: 'next', href: '/v2?marker=more' }];

/** Signs a received request again with another library than the command's, and compares the signatures. */
export const isSigned = async (
  url: string,
  { method, path, headers, body }: StubRequest,
): Promise<boolean> => {
  const [, signed = ''] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? [];
  const names = signed.split(';').filter((name) => name !== 'host');
  const signer = new AwsV4Signer({
    ...{ accessKeyId: 'test', secretAccessKey: 'test', service: 'execute-api', region: 'us-east-1' },
    method,
    url: url + path,
    headers: names.map((name): [string, string] => [name, String(headers[name])]),
    allHeaders: true,
    datetime: String(headers['x-amz-date']),
    ...(body === '' ? {} : { body }),
  });
  return (await signer.sign()).headers.get('authorization') === headers.authorization;
};
