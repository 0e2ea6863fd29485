import { createHash } from 'node:crypto';
import { statSync, mkdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { CreateQueueCommand, ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { AwsClient } from 'aws4fetch';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { localAws, type RootKeys } from '../../local/local-aws.ts';
import { deployment, invoke } from '../support/deployment.ts';
import { startEmulator } from '../../local/emulator.ts';
import { toClientOptions } from '../../local/endpoints.ts';

/** A local AWS separate from the deployed system's, which a test file may empty or stop. */
async function startSeparateLocalAws(name: string) {
  const folder = join(inject('folder'), name);
  mkdirSync(folder, { recursive: true });
  const { endpoint, keys, stop } = await startEmulator({ folder, signal: new AbortController().signal });
  return { endpoint, keys, client: toClientOptions({ endpoint, region: localAws.region, ...keys }), stop };
}

type SeparateLocalAws = Awaited<ReturnType<typeof startSeparateLocalAws>>;

const { region } = localAws;

let aws: SeparateLocalAws;
let root: SQSClient;

beforeAll(async () => {
  aws = await startSeparateLocalAws('access');
  root = new SQSClient(aws.client);
});

afterAll(async () => {
  root.destroy();
  await aws.stop();
});

type Asked = { method: string; path: string; headers: Record<string, string>; body?: string };

/** Sends a request with exactly these headers. */
async function ask(asked: Asked): Promise<{ status: number | undefined; cors: string[]; body: string }> {
  const { hostname, port } = new URL(aws.endpoint);
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { method, path, headers, body } = asked;
  request({ hostname, port, method, path, headers, setHost: false })
    .once('response', resolve)
    .once('upgrade', resolve)
    .once('error', reject)
    .end(body);
  const answer = await promise;
  const cors = Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'));
  return { status: answer.statusCode, cors, body: await text(answer) };
}

type Signed = {
  keys?: RootKeys;
  host?: string;
  path?: string;
  method?: string;
  headers?: Record<string, string>;
};

/** A signed SQS request as an SDK sends it, with changes. */
async function listingQueues({ keys = aws.keys, host, path = '/', method = 'POST', headers }: Signed = {}) {
  const { port, host: own } = new URL(aws.endpoint);
  const named = host === undefined ? own : `${host}:${port}`;
  const client = new AwsClient({ ...keys, service: 'sqs', region });
  const signed = await client.sign(`http://${named}${path}`, {
    method,
    headers: { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'AmazonSQS.ListQueues' },
    ...(method !== 'GET' && { body: '{}' }),
  });
  const body = method === 'GET' ? {} : { body: '{}' };
  return {
    method,
    path,
    headers: { host: named, ...Object.fromEntries(signed.headers), ...headers },
    ...body,
  };
}

const refused = { status: 403, cors: [] };

describe('the local AWS', () => {
  it.each(['127.0.0.1', 'localhost', 'sqs.us-east-1.localhost'])(
    'accepts its keys for the host name %s, and sends no CORS headers',
    async (host) => {
      expect(await ask(await listingQueues({ host }))).toMatchObject({ status: 200, cors: [] });
    },
  );

  it.each([
    'rebound.example',
    'localhost.example',
    '127.0.0.1.example',
    '127.0.0.2',
    'notlocalhost',
    'localhost.',
    'xn--localhost',
  ])('refuses the foreign host name %s', async (host) => {
    expect(await ask(await listingQueues({ host }))).toMatchObject(refused);
  });

  it.each([
    { origin: 'https://page.example' },
    { origin: 'null' },
    { origin: 'http://127.0.0.1:8080' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'same-origin' },
  ])('refuses a signed request from a web page: %j', async (headers) => {
    expect(await ask(await listingQueues({ headers }))).toMatchObject(refused);
  });

  it('refuses preflight requests', async () => {
    const { host } = new URL(aws.endpoint);
    const asking = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    for (const page of [{}, { origin: 'http://127.0.0.1:8080' }]) {
      const headers = { host, ...asking, ...page };
      expect(await ask({ method: 'OPTIONS', path: '/', headers })).toMatchObject(refused);
    }
  });

  it('accepts a request that the user typed into the address bar', async () => {
    const typed = await listingQueues({ headers: { 'sec-fetch-site': 'none' } });
    expect(await ask(typed)).toMatchObject({ status: 200 });
  });

  it.each([
    ['GET', '/_ministack/health'],
    ['GET', '/_ministack/ready'],
    ['GET', '/_localstack/health'],
    ['POST', '/_ministack/config'],
    ['POST', '/_ministack/reset'],
    ['POST', '/%5Fministack/reset'],
    ['GET', `/_ministack/lambda-code/${localAws.account}/us-east-1/function`],
    ['PUT', '/_ministack/cfn-response/token'],
  ])('refuses the control route %s %s, even to root', async (method, path) => {
    const { QueueUrl } = await root.send(new CreateQueueCommand({ QueueName: 'kept' }));
    expect(await ask(await listingQueues({ method, path }))).toMatchObject(refused);
    expect((await root.send(new ListQueuesCommand({}))).QueueUrls).toContain(QueueUrl);
  });

  it.each([
    ["ministack's default keys", { accessKeyId: 'test', secretAccessKey: 'test' }],
    ['the account number', { accessKeyId: localAws.account, secretAccessKey: 'test' }],
    ['the keys of another instance', deployment.client.credentials],
    ['an unknown key', { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'guessed' }],
  ])('refuses %s', async (_, keys) => {
    expect(await ask(await listingQueues({ keys }))).toMatchObject(refused);
    // ministack responds to this route before it checks the signature.
    expect(await ask(await listingQueues({ keys, method: 'GET', path: '/health' }))).toMatchObject(refused);
  });

  it("refuses root's key with another secret", async () => {
    const keys = { ...aws.keys, secretAccessKey: 'guessed' };
    const answer = await ask(await listingQueues({ keys }));
    expect(answer).toMatchObject(refused);
    expect(answer.body).toContain('signature');
  });

  it('refuses an unsigned request, unless it is for an API', async () => {
    const { host } = new URL(aws.endpoint);
    const headers = {
      host,
      'x-amz-target': 'AmazonSQS.ListQueues',
      'content-type': 'application/x-amz-json-1.0',
    };
    for (const path of [
      '/',
      '/health',
      '/_aws/execute-api/',
      '/_aws/execute-api/api',
      '/_aws/sqs/messages',
    ]) {
      expect(await ask({ method: 'POST', path, headers, body: '{}' }), path).toMatchObject(refused);
    }
    // This API does not exist; a 404 shows that the request passed the check.
    const api = await ask({ method: 'POST', path: '/_aws/execute-api/api/stage/path', headers, body: '{}' });
    expect(api).toMatchObject({ status: 404, cors: [] });
  });

  it('lets browsers open the page of a portal, without the keys of the local AWS', async () => {
    const { host } = new URL(aws.endpoint);
    const path = '/_aws/execute-api/api/$default/portal/session';
    for (const page of [{ origin: 'null' }, { 'sec-fetch-site': 'cross-site' }]) {
      // This API does not exist; a 404 shows that the request passed the check.
      const open = await ask({ method: 'POST', path, headers: { host, ...page }, body: '{}' });
      expect(open).toMatchObject({ status: 404, cors: [] });
      for (const other of [path.replace('/portal', '/portals'), '/portal/', `/x${path}`])
        expect(await ask({ method: 'GET', path: other, headers: { host, ...page } })).toMatchObject(refused);
      expect(await ask(await listingQueues({ path, headers: page }))).toMatchObject(refused);
    }
  });

  it('keeps its files, such as the private key of Cognito, from other users', async () => {
    const temporary = join(inject('folder'), 'access', 'tmp');
    expect((statSync(temporary).mode & 0o777).toString(8)).toBe('700');
    expect(await readdir(join(temporary, 'state'))).toContain('cognito-rsa-key.pem');
  });

  it('opens no WebSocket', async () => {
    const headers = {
      host: `data.iot.${region}.localhost`,
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      'sec-websocket-protocol': 'mqtt',
    };
    expect(await ask({ method: 'GET', path: '/mqtt', headers })).toMatchObject(refused);
  });

  it('refuses function keys computed from public names', async () => {
    const { lambda, endpoints } = deployment;
    const named = { FunctionName: endpoints.functions.reconcile };
    await invoke(named.FunctionName);
    const { FunctionArn, Role } = await lambda.send(new GetFunctionConfigurationCommand(named));
    const hash = (of: string) => createHash('sha256').update(of).digest('hex');
    const digest = hash(`${FunctionArn}:${Role}`);
    const guessed = {
      accessKeyId: `ASIA${digest.slice(0, 16).toUpperCase()}`,
      secretAccessKey: hash(`secret:${digest}`),
      sessionToken: hash(`token:${digest}`),
    };
    const guesser = new AwsClient({ ...guessed, service: 'sts', region });
    const answer = await guesser.fetch(`${endpoints.endpoint}/?Action=GetCallerIdentity&Version=2011-06-15`);
    expect(answer.status).toBe(403);
  });
});
