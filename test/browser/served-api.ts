import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';
import { requestApi, wholeApi } from '../support/whole-api.ts';
import { systemClock } from '../../shared/adapters/system-clock.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { apiUnderTest, CALLER, PUBLIC_URL } from '../unit/api/api-under-test.ts';

/** Replaces the API's response to a request; undefined leaves it. */
export type Instead = (request: { method: string; path: string }) => Response | undefined;

/** Carries the ARN of the caller, whom IAM would know by the signature. By default an operator calls. */
export const CALLER_ARN = 'x-caller-arn';

/** Serves the real administration API on loopback, with in-memory ports. */
export const servedApi = async (overrides: Parameters<typeof apiUnderTest>[0] = {}) => {
  const world = apiUnderTest({
    clock: systemClock,
    newId: randomUUID,
    queueDepths: {
      approximate: () =>
        Promise.resolve({
          ingress: { waiting: 0, delayed: 0 },
          delivery: { waiting: 0, delayed: 0 },
          retry: { waiting: 3, delayed: 0 },
        }),
    },
    ...overrides,
  });
  const { settings } = world.dependencies;
  const api = wholeApi({ ...world.dependencies, settings: { ...settings, version: packageJson.version } });
  let instead: Instead = () => undefined;

  const answerTo = async (request: IncomingMessage): Promise<Response> => {
    const { method = 'GET', url = '/', headers } = request;
    const body = await buffer(request);
    const given = instead({ method, path: url });
    const { [CALLER_ARN]: arn, authorization } = headers;
    const init = {
      method,
      ...(authorization !== undefined && { headers: { authorization } }),
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    };
    const caller = typeof arn === 'string' ? { ...CALLER, principal: arn } : CALLER;
    return given ?? (await requestApi(api, url, init, { caller, publicUrl: PUBLIC_URL }));
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const answer = await answerTo(request);
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => {
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...world,
    url: `http://127.0.0.1:${port}`,
    /** Replaces responses from now on. */
    answerInstead: (next: Instead): void => {
      instead = next;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => {
          resolve();
        });
      }),
  };
};

export type ServedApi = Awaited<ReturnType<typeof servedApi>>;
