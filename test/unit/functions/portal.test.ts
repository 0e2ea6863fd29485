import { gunzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { answerPortal, type PortalContext, readSession } from '../../../functions/portal/portal.ts';
import { createSessionCredentials } from '../../../shared/adapters/sts/session-credentials.ts';
import { signedHeaders } from '../../../shared/adapters/aws/signed-headers.ts';
import type { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';

const SESSION = `phsession_customer.${'n'.repeat(22)}.${'s'.repeat(43)}.acme`;

const page = new Map([
  [
    '/',
    {
      bytes: Buffer.from('<!doctype html>'),
      headers: { 'content-type': 'text/html', 'content-length': '15' },
    },
  ],
]);

type Sent = { url: string; method: string; headers: Record<string, string>; body: string };

let sent: Sent[];
let faults: unknown[];
let answer: () => Response;
let context: PortalContext;

beforeEach(() => {
  [sent, faults] = [[], []];
  answer = () =>
    Response.json({ subscriptions: [] }, { headers: { 'set-cookie': 'a=b', location: '/v2/x' } });
  context = {
    page,
    frameAncestors: ['https://app.example.com'],
    apiUrl: 'https://api.test',
    sign: (call, keys) =>
      signedHeaders({ region: 'eu-central-1', credentials: () => Promise.resolve(keys) })(call),
    sessions: {
      find: () =>
        Promise.resolve({
          queue: 'acme',
          rights: ['see', 'manage', 'deliveries'],
          keys: { accessKeyId: 'AKIA', secretAccessKey: 'k', sessionToken: 't' },
        }),
      forget: () => undefined,
    },
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const { url, method } = request;
      sent.push({ url, method, headers: Object.fromEntries(request.headers), body: await request.text() });
      return answer();
    },
    reportFault: (fault) => faults.push(fault),
  };
});

const ask = (method: string, rawPath: string, headers: Record<string, string> = {}, body?: string) =>
  answerPortal(context, {
    rawPath,
    rawQueryString: 'limit=5',
    headers,
    ...(body !== undefined && { body }),
    requestContext: { requestId: 'r-1', http: { method } },
  });

const header = { 'posthaste-portal-session': SESSION };

const shown = {
  queue: 'acme',
  session_name: 'customer.n',
  capabilities: ['manage'],
  expires_at: new Date().toISOString(),
  title: 't',
  limits: { endpoints: 1 },
  response_bodies: true,
};

describe('the function of the portal', () => {
  it('serves its page, compressed where the browser takes that, in frames of the given sites only', async () => {
    const plain = await ask('GET', '/portal/');
    expect(Buffer.from(plain.body, 'base64').toString()).toBe('<!doctype html>');
    expect(plain.headers).toMatchObject({ 'content-type': 'text/html', 'referrer-policy': 'no-referrer' });
    expect(plain.headers['content-security-policy']).toContain('frame-ancestors https://app.example.com;');
    const small = await ask('GET', '/hooks/portal/', { 'accept-encoding': 'br, gzip' });
    expect(gunzipSync(Buffer.from(small.body, 'base64')).toString()).toBe('<!doctype html>');
    expect(small.headers).not.toHaveProperty('content-length');
    expect(await ask('GET', '/portal')).toMatchObject({ statusCode: 308, headers: { location: 'portal/' } });
    expect(await ask('GET', '/portal/none')).toMatchObject({ statusCode: 404 });
    expect(await ask('POST', '/portal/')).toMatchObject({ statusCode: 405 });
  });

  it('passes a request on to the gate, with a signature and no header of the browser', async () => {
    const given = { ...header, cookie: 'planted', authorization: 'planted', 'x-forwarded-for': 'planted' };
    const { statusCode, headers } = await ask('POST', '/portal/api/subscriptions', given, '{"a":1}');
    expect(statusCode).toBe(200);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json' });
    expect(Object.keys(headers)).not.toContain('set-cookie');
    expect(Object.keys(headers)).not.toContain('location');
    const [request] = sent;
    expect(request?.url).toBe('https://api.test/v2/portal/queues/acme/manage/subscriptions?limit=5');
    expect(request?.body).toBe('{"a":1}');
    expect(request?.headers['authorization']).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIA/);
    expect(JSON.stringify(request)).not.toContain('planted');
    expect(JSON.stringify(request)).not.toContain(SESSION);
  });

  it('encodes what API Gateway decoded', async () => {
    await ask('GET', '/portal/api/messages/a b%2fc?d/deliveries/s-1', header);
    expect(sent[0]?.url).toContain('/deliveries/messages/a%20b%2fc%3Fd/deliveries/s-1?');
  });

  it('passes on what no browser sends, and reports no fault for it', async () => {
    await ask('GET', '/portal/api/subscriptions', header, '{}');
    await ask('GET', '/portal/api/subscriptions/\ud800', header);
    const urls = ['/see/subscriptions?limit=5', '/see/subscriptions/%EF%BF%BD?limit=5'];
    expect(sent.map(({ url, body }) => [url.slice(url.indexOf('/see')), body])).toEqual(
      urls.map((url) => [url, '']),
    );
    expect(faults).toEqual([]);
  });

  it.each([
    ['GET', '/portal/api/subscriptions', {}, 401],
    ['GET', '/portal/api/subscriptions', { 'posthaste-portal-session': 'guess' }, 401],
    ['GET', '/portal/session', { 'posthaste-portal-session': SESSION.replace('phsession', 'phlink') }, 401],
    ['POST', '/portal/api/portal-links', header, 404],
    ['GET', '/portal/api/recoveries', header, 403],
    ['GET', '/portal/api/../../queues', header, 404],
    ['DELETE', '/portal/session', header, 405],
    ['GET', '/portal/api/subscriptions', { ...header, 'sec-fetch-site': 'cross-site' }, 403],
    ['POST', '/portal/session', { 'sec-fetch-site': 'same-site' }, 403],
  ])('answers %s %s with %j by itself', async (method, path, headers, status) => {
    expect(await ask(method, path, headers)).toMatchObject({ statusCode: status });
    expect(sent).toEqual([]);
  });

  it('passes the exchange of a link on, and asks for a session by its secret', async () => {
    await ask('POST', '/portal/session', {}, '{"token":"t"}');
    await ask('GET', '/portal/session', header);
    expect(sent).toMatchObject([
      { method: 'POST', url: 'https://api.test/v2/portal/session', body: '{"token":"t"}' },
      {
        method: 'GET',
        url: 'https://api.test/v2/portal/session',
        headers: { authorization: `Bearer ${SESSION}` },
      },
    ]);
  });

  it('tells the page which sites get its height', async () => {
    answer = () => Response.json(shown);
    const { body } = await ask('GET', '/portal/session', header);
    expect(JSON.parse(body)).toEqual({ ...shown, frame_ancestors: ['https://app.example.com'] });
  });

  it('says nothing of an internal error but the request id', async () => {
    answer = () => {
      throw new Error('planted');
    };
    const failed = await ask('GET', '/portal/api/subscriptions', header);
    expect(failed).toMatchObject({ statusCode: 502, body: expect.stringContaining('r-1') as string });
    expect(failed.body).not.toContain('planted');
    expect(faults).toHaveLength(1);
  });
});

describe('the credentials of a session', () => {
  const assumed: unknown[] = [];
  const sts = {
    send: ({ input }: AssumeRoleCommand) => {
      assumed.push(input);
      return Promise.resolve({ Credentials: { AccessKeyId: 'A', SecretAccessKey: 'S', SessionToken: 'T' } });
    },
  } as unknown as STSClient;
  const sessions = () =>
    createSessionCredentials({ sts, roleArn: 'role', apiArn: 'arn/$default' }, (secret) =>
      readSession(context, secret),
    );

  beforeEach(() => {
    assumed.length = 0;
    answer = () => Response.json(shown);
  });

  it('are of a role with a policy for the queue and rights that the API names', async () => {
    expect(await sessions().find(SESSION)).toMatchObject({
      queue: 'acme',
      keys: { accessKeyId: 'A' },
    });
    expect(assumed).toMatchObject([{ RoleArn: 'role', RoleSessionName: 'customer.n' }]);
    const [{ Policy }] = assumed as [{ Policy: string }];
    expect(JSON.parse(Policy)).toMatchObject({
      Statement: [
        {
          Effect: 'Allow',
          Action: 'execute-api:Invoke',
          Resource: [
            'arn/$default/GET/v2/portal/queues/acme/see/*',
            ...['POST', 'PATCH', 'DELETE'].map(
              (method) => `arn/$default/${method}/v2/portal/queues/acme/manage/*`,
            ),
          ],
        },
      ],
    });
  });

  it('are shared by concurrent and later requests, until the session has ended', async () => {
    const known = sessions();
    await Promise.all([known.find(SESSION), known.find(SESSION)]);
    await known.find(SESSION);
    expect(assumed).toHaveLength(1);
    known.forget(SESSION);
    await known.find(SESSION);
    expect(assumed).toHaveLength(2);
  });

  it('are none for a session that the API does not know, and are asked for again after an error', async () => {
    const known = sessions();
    answer = () => Response.json({}, { status: 500 });
    await expect(known.find(SESSION)).rejects.toThrow('500');
    answer = () => Response.json({}, { status: 401 });
    expect(await known.find(SESSION)).toBeUndefined();
    answer = () => Response.json(shown);
    expect(await known.find(SESSION)).toBeDefined();
  });
});
