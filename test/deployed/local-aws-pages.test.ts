import { createServer, type Server } from 'node:http';
import { IAMClient, ListRolesCommand } from '@aws-sdk/client-iam';
import { LambdaClient, ListFunctionsCommand } from '@aws-sdk/client-lambda';
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { localAws } from '../../local/local-aws.ts';
import { inBrowser, launchChromium } from '../browser/chromium.ts';
import { closeServer, listen } from '../support/listening.ts';
import { startSeparateLocalAws, type SeparateLocalAws } from '../support/own-local-aws.ts';

const { region } = localAws;

/** A key in the query, as in a presigned URL, which a page can send without a preflight request. */
const QUERY_KEY = 'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=';

inBrowser('a web page from another port of this machine', () => {
  let aws: SeparateLocalAws;
  let browser: Browser;
  let server: Server;
  let page: Page;

  beforeAll(async () => {
    server = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end('<p>A page</p>'),
    );
    const port = await listen(server, '127.0.0.1');
    [aws, browser] = await Promise.all([startSeparateLocalAws('pages'), launchChromium()]);
    page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${port}/`);
  });

  afterAll(async () => {
    await Promise.all([browser.close(), closeServer(server), aws.stop()]);
  });

  const role = { AssumeRolePolicyDocument: '{"Version":"2012-10-17","Statement":[]}', Path: '/' };
  const newFunction = {
    FunctionName: 'stolen',
    Runtime: 'nodejs22.x',
    Handler: 'index.handler',
    Role: `arn:aws:iam::${localAws.account}:role/stolen`,
    Code: { ZipFile: 'UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==' },
  };
  const calls = [
    { service: 'sqs', path: '/', body: new URLSearchParams({ Action: 'CreateQueue', QueueName: 'stolen' }) },
    {
      service: 'iam',
      path: '/',
      body: new URLSearchParams({ Action: 'CreateRole', RoleName: 'stolen', ...role }),
    },
    { service: 'lambda', path: '/2015-03-31/functions', body: JSON.stringify(newFunction) },
  ];

  /** The result of each call in the page: a readable status, `opaque`, or `failed`. */
  const tried = (mode: 'cors' | 'no-cors', accessKeyId: string): Promise<unknown> => {
    const script = calls.map(({ service, path, body }) => {
      const scope = `${accessKeyId}/20260101/${region}/${service}/aws4_request`;
      const url = `${aws.endpoint}${path}?${QUERY_KEY}${encodeURIComponent(scope)}`;
      const headers = {
        'content-type': typeof body === 'string' ? 'text/plain' : 'application/x-www-form-urlencoded',
        // The browser drops this header in no-cors mode.
        authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`,
      };
      const init = JSON.stringify({ method: 'POST', mode, headers, body: String(body) });
      return `await fetch(${JSON.stringify(url)}, ${init}).then(({ type, status }) => type === 'opaque' ? type : status, () => 'failed')`;
    });
    return page.evaluate(`(async () => [${script.join(', ')}])()`);
  };

  const existing = async (): Promise<unknown> => {
    const [queues, roles, functions] = await Promise.all([
      new SQSClient(aws.client).send(new ListQueuesCommand({})),
      new IAMClient(aws.client).send(new ListRolesCommand({})),
      new LambdaClient(aws.client).send(new ListFunctionsCommand({})),
    ]);
    return { queues: queues.QueueUrls ?? [], roles: roles.Roles, functions: functions.Functions };
  };

  it.each(['test', 'the key of this instance'])(
    'cannot create a queue, a role or a function with %s, or read a response',
    async (which) => {
      const key = which === 'test' ? which : aws.keys.accessKeyId;
      expect(await tried('cors', key)).toEqual(['failed', 'failed', 'failed']);
      expect(await tried('no-cors', key)).toEqual(['opaque', 'opaque', 'opaque']);
      expect(await existing()).toEqual({ queues: [], roles: [], functions: [] });
    },
  );

  it('cannot create a queue with a form', async () => {
    const action = `${aws.endpoint}/?${QUERY_KEY}test/20260101/${region}/sqs/aws4_request`;
    const form = `<form method="post" action="${action}"><input name="Action" value="CreateQueue"><input name="QueueName" value="stolen"></form>`;
    const own = await browser.newPage();
    await own.goto(page.url());
    await own.setContent(form);
    const [answer] = await Promise.all([
      own.waitForResponse((response) => response.url().startsWith(aws.endpoint)),
      own.evaluate('document.forms[0].submit()'),
    ]);
    expect(answer.status()).toBe(403);
    expect(await existing()).toEqual({ queues: [], roles: [], functions: [] });
  });
});
