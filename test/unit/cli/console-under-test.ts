import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ApiAccess } from '../../../cli/api/api-access.ts';
import type { ConsoleTarget } from '../../../cli/commands/console/console-info.ts';
import { startConsole, readPage, type PageFiles } from '../../../cli/commands/console/console-server.ts';
import type { LoopbackServer } from '../../../cli/loopback/loopback-server.ts';
import { awsStub, type StubAnswer, type StubRequest } from '../../support/aws-stub.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { requestLoopback, type LoopbackResponse, type LoopbackRequest } from './loopback-request.ts';

export const MARKUP = '<img src=x onerror="alert(1)"><script>alert(2)</script>';

export type StubbedApi = {
  url: string;
  requests: readonly StubRequest[];
  /** Sets the answer to further requests. */
  answers: (answer: StubAnswer) => void;
};

/** An API that gives the same answer to every request. */
export const apiThatAnswers = async (answer: StubAnswer): Promise<StubbedApi> => {
  let current = answer;
  const { config, requests, close } = await awsStub(() => current);
  onTestFinished(close);
  return {
    url: config.endpoint,
    requests,
    answers: (next) => {
      current = next;
    },
  };
};

/** A deployment whose name is markup. */
export const deploymentAt = (
  apiUrl: string,
  authorize: ApiAccess['authorize'] = () => Promise.resolve(new Headers({ authorization: 'signed' })),
): ConsoleTarget => ({
  kind: 'deployment',
  access: { name: MARKUP, apiUrl, region: 'us-east-1', isLocal: true, authorize },
  deadLetters: () => Promise.reject(new Error('no queue is expected')),
});

const aPage = async (): Promise<PageFiles> => {
  const folder = temporaryFolder();
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>Posthaste</title>');
  await writeFile(join(folder, 'assets', 'index-AbCd1234.js'), 'export {};');
  return readPage(folder);
};

/** A running console with a page of two files. */
export const consoleOf = async (target: ConsoleTarget): Promise<LoopbackServer> => {
  const started = await startConsole({ page: await aPage(), target });
  onTestFinished(started.close);
  return started;
};

export const tokenOf = ({ url }: LoopbackServer): string => new URL(url).hash.replace('#token=', '');

/** Sends a request as the page does: with the token and the headers that a browser adds. */
export const asPage = (
  at: LoopbackServer,
  { headers, ...asked }: LoopbackRequest,
): Promise<LoopbackResponse> =>
  requestLoopback(at.port, {
    ...asked,
    headers: {
      authorization: `Bearer ${tokenOf(at)}`,
      'sec-fetch-site': 'same-origin',
      origin: `http://127.0.0.1:${at.port}`,
      host: `127.0.0.1:${at.port}`,
      ...headers,
    },
  });

export const jsonOf = ({ body }: LoopbackResponse): unknown => JSON.parse(body);
