import { AwsV4Signer } from 'aws4fetch';
import { describe, expect, it } from 'vitest';
import type { StubRequest } from '../../support/aws-stub.ts';
import { AT, subscription } from './delivery-views.ts';
import { jsonLines, answering } from './run-command.ts';
import { json, refusal, stubApi, type StubApi } from './stub-api.ts';

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

const REFUSED = { code: 'validation', message: 'not an object' };

describe('a queue', () => {
  it.each([
    ['books', ['books', 'oder'], 'orders'],
    ['a list of deliveries', ['deliveries', 'list', 'oder'], 'orders'],
    ['a message', ['message', 'show', 'bill', 'm1'], 'bills-of-last-year'],
    ['a recovery', ['recover', 'start', 'oder', '--since', '1h'], 'orders'],
    ['a published message', ['publish', 'oder', '--data', '1'], 'orders'],
    ['published lines', ['publish', 'oder'], 'orders'],
    ['a deleted queue', ['queue', 'delete', 'oder'], 'orders'],
  ])('is an error with the name that was meant, if it is missing: %s', async (_, args, meant) => {
    const api = await stubApi({
      'GET /v2/queues': () =>
        json({ queues: [{ name: 'orders' }, { name: 'bills-of-last-year' }], links: [] }),
    });
    const { status, stdout, stderr } = await api.run(args, { input: '{"data":1}\n' });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain(
      `There is no queue ${args[0] === 'message' ? 'bill' : 'oder'}. Did you mean ${meant}?\n`,
    );
    expect(stderr.includes('--create')).toBe(args[0] === 'publish');
    expect(
      api.requests.filter(({ method, path }) => method !== 'GET' && !path.endsWith('/recoveries')),
    ).toEqual([]);
  });

  it('is named without a suggestion to a caller who may not list queues', async () => {
    const api = await stubApi({ 'GET /v2/queues': () => json({ message: 'Forbidden' }, 403) });
    expect((await api.run(['books', 'oder'])).stderr).toContain('There is no queue oder. To see all queues,');
  });

  it('is created with a word on it for a new subscription, so that a mistyped name is noticed', async () => {
    const created = { subscription_id: 's1', secret: 'whsec_x' };
    const api = await stubApi({ 'POST /v2/queues/oder/subscriptions': () => json(created, 201) });
    const { status, stderr } = await api.run(['subscription', 'create', 'oder', 'https://example.com']);
    expect(status).toBe(0);
    expect(stderr).toContain('There was no queue oder: it was created.');
  });

  it.each([
    ['create', 'https://example.com/hook', () => refusal(400, 'validation', 'no https')],
    ['import', '-', () => json({ subscriptions: [], failed: [{ line: 1, error: REFUSED }] })],
  ])('is not said to be created if nothing was: subscription %s', async (command, from, answer) => {
    const path = command === 'create' ? 'queues/oder/subscriptions' : 'queues/oder/import';
    const api = await stubApi({ [`POST /v2/${path}`]: answer });
    const { status, stderr } = await api.run(['subscription', command, 'oder', from], { input: '{}\n' });
    expect(status).toBe(1);
    expect(stderr).toMatch(/refused/);
    expect(stderr).not.toContain('There was no queue');
  });

  it('leaves an error as it is if the queue exists', async () => {
    const { stderr } = await (await stubApi({})).run(['message', 'show', 'orders', 'm1']);
    expect(stderr).toContain('was refused (404 not_found)');
  });
});

describe('posthaste queue delete', () => {
  const deleting = (...subscriptions: object[]) =>
    stubApi({
      'GET /v2/queues/orders/subscriptions': () => json({ subscriptions, links: [] }),
      'DELETE /v2/queues/orders': () => ({ status: 204, body: '' }),
    });
  const isDeleted = ({ requests }: StubApi): boolean => requests.some(({ method }) => method === 'DELETE');

  it('is deleted at once if it has no subscriptions, or with --yes', async () => {
    const { stdout } = await (await deleting()).run(['queue', 'delete', 'orders', '--json']);
    expect(stdout).toBe('{"queue":"orders"}\n');
    const { status } = await (await deleting(subscription)).run(['queue', 'delete', 'orders', '--yes']);
    expect(status).toBe(0);
  });

  it('is kept if it has subscriptions and there is no terminal to ask on', async () => {
    const api = await deleting(subscription);
    const { status, stderr } = await api.run(['queue', 'delete', 'orders']);
    expect(status).toBe(2);
    expect(stderr).toContain('error: queue orders has 1 subscription; add --yes to delete them too');
    expect(isDeleted(api)).toBe(false);
  });

  it.each([
    ['orders', 0],
    ['yes', 1],
    [undefined, 1],
  ])('asks for its name on a terminal, and is answered %s', async (answer, status) => {
    const api = await deleting(subscription, { ...subscription, id: 's2' });
    const run = await api.run(['queue', 'delete', 'orders'], answering(answer, 'Type its name'));
    expect(run.stderr).toContain('Queue orders has 2 subscriptions. Type its name to delete them too: ');
    expect({ status: run.status, isDeleted: isDeleted(api) }).toEqual({ status, isDeleted: status === 0 });
  });
});
