import { afterAll, describe, expect, it } from 'vitest';
import { AwsV4Signer } from 'aws4fetch';
import type { StubRequest } from '../../support/aws-stub.ts';
import { jsonLines } from './run-command.ts';
import { closeStubs, json, refusal, stubApi } from './stub-api.ts';

afterAll(closeStubs);

/** Signs the received request again with another library, and compares the signatures. */
const isSigned = async (url: string, { method, path, headers, body }: StubRequest): Promise<boolean> => {
  const [, signed = ''] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? [];
  const names = signed.split(';').filter((name) => name !== 'host');
  const signer = new AwsV4Signer({
    accessKeyId: 'test',
    secretAccessKey: 'test',
    service: 'execute-api',
    region: 'us-east-1',
    method,
    url: url + path,
    headers: names.map((name): [string, string] => [name, String(headers[name])]),
    allHeaders: true,
    datetime: String(headers['x-amz-date']),
    ...(body === '' ? {} : { body }),
  });
  return (await signer.sign()).headers.get('authorization') === headers.authorization;
};

const AT = '2026-01-01T00:00:00.000Z';

const noQueue = { 'GET /v2/queues/orders': () => refusal(404, 'not_found', 'there is no such queue') };

const queues = (page: string[], next?: string) =>
  json({
    queues: page.map((name) => ({ name, href: `/v2/queues/${name}`, metadata: { of: name } })),
    links: next === undefined ? [] : [{ rel: 'next', href: `/v2/queues?limit=100&marker=${next}` }],
  });

describe('posthaste queue list', () => {
  it('follows the pages with signed requests, and prints one queue per line with --json', async () => {
    const api = await stubApi({
      'GET /v2/queues': ({ path }) => (path.includes('marker=m1') ? queues(['c']) : queues(['a', 'b'], 'm1')),
    });
    const { status, stdout, stderr } = await api.run(['queue', 'list', '--json']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(jsonLines(stdout)).toEqual(['a', 'b', 'c'].map((name) => ({ name, metadata: { of: name } })));
    expect(api.requests.map(({ path }) => path)).toEqual([
      '/v2/queues?detailed=true&limit=100',
      '/v2/queues?detailed=true&limit=100&marker=m1',
    ]);
    for (const request of api.requests) expect(await isSigned(api.url, request)).toBe(true);
  });

  it('prints a table with counts, and how many queues it leaves out', async () => {
    const subscription = {
      id: 's',
      source: 'a',
      subscriber: 'b',
      ttl: null,
      age: 1,
      options: {},
      confirmed: true,
    };
    const delivery = {
      queue: 'a',
      messageId: 'm',
      subscriptionId: 's',
      status: 'exhausted',
      acceptedAt: AT,
      attemptCount: 1,
    };
    const deliveries = Array.from({ length: 100 }, () => delivery);
    const statistics = (enabled: boolean) => () => json({ enabled, total: { messages: enabled ? 1234 : 0 } });
    const api = await stubApi({
      'GET /v2/queues': ({ path }) =>
        path.includes('with_count') ? json({ queues: [], count: 57 }) : queues(['a', 'b'], 'm1'),
      'GET /v2/queues/a/subscriptions': () => json({ subscriptions: [subscription], links: [] }),
      'GET /v2/queues/a/deliveries': () => json({ deliveries, links: [{ rel: 'next', href: '?marker=2' }] }),
      'GET /v2/queues/a/statistics': statistics(true),
      'GET /v2/queues/b': () => json({}),
      'GET /v2/queues/b/subscriptions': () => json({ message: 'Forbidden' }, 403),
      'GET /v2/queues/b/deliveries': () => json({ deliveries: [], links: [] }),
      'GET /v2/queues/b/statistics': statistics(false),
    });
    expect(await api.run(['queue', 'list', '--limit', '2'])).toEqual({
      status: 0,
      stdout:
        'Queue  Subscriptions  Undelivered  Messages (24 h)  Metadata\n' +
        'a                  1         100+             1234  {"of":"a"}\n' +
        'b                               0                   {"of":"b"}\n',
      stderr: '2 of 57 shown: raise --limit for more.\n',
    });
  });

  it('sends a token instead of a signature if POSTHASTE_TOKEN is set', async () => {
    const api = await stubApi({ 'GET /v2/queues': () => queues([]) });
    const { stdout } = await api.run(['queue', 'list'], { env: { POSTHASTE_TOKEN: 'a.b.c' } });
    expect(stdout).toBe('No queue yet. Create one with npm run -s posthaste -- queue create <queue>\n');
    expect(api.requests[0]?.headers.authorization).toBe('Bearer a.b.c');
  });

  it('escapes control characters in metadata', async () => {
    const name = 'q\u001b[2J\u009b31m\u202e\r\n';
    const api = await stubApi({
      'GET /v2/queues': () => json({ queues: [{ name: 'q', metadata: { name } }], links: [] }),
    });
    const shown =
      (await api.run(['queue', 'list'])).stdout + (await api.run(['queue', 'list', '--json'])).stdout;
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    const [, ...lines] = shown.split('\n').slice(1);
    expect(jsonLines(lines.join('\n'))).toEqual([{ name: 'q', metadata: { name } }]);
  });
});

describe('posthaste queue', () => {
  it('shows the metadata, and reports a missing queue in one message', async () => {
    const api = await stubApi({ 'GET /v2/queues/orders': () => json({ _retry_policy: {} }) });
    expect((await api.run(['queue', 'show', 'orders', '--json'])).stdout).toBe('{"_retry_policy":{}}\n');
    expect(await api.run(['queue', 'show', 'others'])).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'posthaste: There is no queue others. To see all queues, run npm run -s posthaste -- queue list\n',
    });
  });

  it('creates a queue with the source text of metadata and policy', async () => {
    const api = await stubApi({ ...noQueue, 'PUT /v2/queues/orders': () => ({ status: 201, body: '' }) });
    const metadata = '{"size": 12345678901234567890 }';
    const policy = '{"maximum_delay": 60}';
    const run = await api.run(['queue', 'create', 'orders', '--metadata', metadata, '--policy', policy]);
    expect(run).toEqual({ status: 0, stdout: 'Created queue orders.\n', stderr: `→ ${api.url}\n` });
    expect(api.requests.at(-1)).toMatchObject({
      method: 'PUT',
      body: '{"size": 12345678901234567890,"_retry_policy":{"maximum_delay": 60}}',
    });
  });

  it('sends the name of a preset, which the API expands', async () => {
    const api = await stubApi({ ...noQueue, 'PUT /v2/queues/orders': () => ({ status: 201, body: '' }) });
    await api.run(['queue', 'create', 'orders', '--policy', 'patient']);
    expect(api.requests.at(-1)?.body).toBe('{"_retry_policy":"patient"}');
    const { status, stderr } = await api.run(['queue', 'create', 'orders', '--policy', 'patiant']);
    expect(status).toBe(2);
    expect(stderr).toContain(
      'There is no preset patiant. Presets: quick, default, standard-webhooks, patient.',
    );
  });

  it('does not replace an existing queue', async () => {
    const api = await stubApi({ 'GET /v2/queues/orders': () => json({}) });
    const { status, stderr } = await api.run(['queue', 'create', 'orders']);
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `→ ${api.url}\nposthaste: Queue orders already exists. To change it, use npm run -s posthaste -- queue set\n`,
    });
    expect(api.requests.map(({ method }) => method)).toEqual(['GET']);
  });

  it('sets and removes members by a JSON patch', async () => {
    const api = await stubApi({ 'PATCH /v2/queues/orders': () => json({ owner: 'b' }) });
    const args = ['--policy', '{}', '--set', 'a/b~c=1.50', '--set', 'owner="b"', '--unset', 'note'];
    const { status, stdout } = await api.run(['queue', 'set', 'orders', ...args, '--json']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: '{"owner":"b"}\n' });
    expect(api.requests[0]?.headers['content-type']).toBe('application/json-patch+json');
    expect(api.requests[0]?.body).toBe(
      '[{"op":"add","path":"/metadata/_retry_policy","value":{}},' +
        '{"op":"add","path":"/metadata/a~1b~0c","value":1.50},' +
        '{"op":"add","path":"/metadata/owner","value":"b"},' +
        '{"op":"remove","path":"/metadata/note"}]',
    );
  });
});

describe('a failed API request', () => {
  const fields = [{ field: '_retry_policy.maximum_delay', message: 'must not be under minimum_delay' }];
  const refusing = () =>
    stubApi({
      ...noQueue,
      'PUT /v2/queues/orders': () => refusal(400, 'invalid_retry_policy', 'all of it', fields),
    });

  it('is reported with the faulty fields, status 1 and no stack trace', async () => {
    const api = await refusing();
    expect(await api.run(['queue', 'create', 'orders'])).toEqual({
      status: 1,
      stdout: '',
      stderr:
        `→ ${api.url}\n` +
        'posthaste: PUT /v2/queues/orders was refused (400 invalid_retry_policy):\n' +
        '  _retry_policy.maximum_delay must not be under minimum_delay\n',
    });
  });

  it('is one line of JSON on stderr with --json', async () => {
    const { status, stdout, stderr } = await (await refusing()).run(['queue', 'create', 'orders', '--json']);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(jsonLines(stderr)).toEqual([
      { error: { status: 400, code: 'invalid_retry_policy', message: 'all of it', fields } },
    ]);
  });

  it('names the missing permission if API Gateway denies access', async () => {
    const api = await stubApi({ 'GET /v2/queues': () => json({ message: 'Forbidden' }, 403) });
    const { status, stderr } = await api.run(['queue', 'list']);
    expect(status).toBe(1);
    expect(stderr).toContain('execute-api:Invoke');
  });

  it('is repeated after a transient error', async () => {
    const api = await stubApi({
      'GET /v2/queues': (_, index) => (index < 2 ? json({ message: 'busy' }, 503) : queues(['a'])),
    });
    expect((await api.run(['queue', 'list', '--json'])).status).toBe(0);
    expect(api.requests).toHaveLength(3);
  });

  it('is reported as a version mismatch if the response has an unexpected form', async () => {
    const api = await stubApi({ 'GET /v2/queues': () => json({ queues: [{ title: 'a' }] }) });
    const { status, stderr } = await api.run(['queue', 'list']);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^posthaste: The response to GET \/v2\/queues has an unexpected form .* the same version\.\n$/,
    );
  });

  it('is reported with the address if the API does not respond', async () => {
    const { run, close } = await stubApi({});
    await close();
    const { status, stderr } = await run(['queue', 'delete', 'orders']);
    expect(status).toBe(1);
    expect(stderr).toMatch(/\nposthaste: The API of .* does not respond at http.*: .*ECONNREFUSED.*\.\n$/);
  });
});
