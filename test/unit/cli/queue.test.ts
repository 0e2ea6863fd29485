import { describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/text.ts';
import { listed, page, subscription } from './delivery-views.ts';
import { answering, jsonLines, type RunOptions } from './run-command.ts';
import {
  FORBIDDEN,
  isSigned,
  json,
  MORE,
  NO_CONTENT,
  NOT_FOUND,
  refusal,
  runOn,
  stubApi,
  type StubRoutes,
} from './stub-api.ts';

const QUEUE = '/v2/queues/orders';
const noQueue = { [`GET ${QUEUE}`]: NOT_FOUND };

const queues = (page: string[], next?: string) =>
  json({
    queues: page.map((name) => ({ name, href: `/v2/queues/${name}`, metadata: { of: name } })),
    links: next === undefined ? [] : [{ rel: 'next', href: `/v2/queues?limit=100&marker=${next}` }],
  });

describe('posthaste queue list', () => {
  it('follows the pages with signed requests, and prints one queue per line with --json', async () => {
    const routes: StubRoutes = {
      'GET /v2/queues': ({ path }) => (path.includes('marker=m1') ? queues(['c']) : queues(['a', 'b'], 'm1')),
    };
    const { status, lines, stderr, requests, url } = await runOn(routes, 'queue list --json');
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(lines).toEqual(['a', 'b', 'c'].map((name) => ({ name, metadata: { of: name } })));
    expect(requests.map(({ path }) => path)).toEqual([
      '/v2/queues?detailed=true&limit=100',
      '/v2/queues?detailed=true&limit=100&marker=m1',
    ]);
    for (const request of requests) expect(await isSigned(url, request)).toBe(true);
  });

  it('prints a table with counts, and how many queues it leaves out', async () => {
    const deliveries = Array.from({ length: 100 }, () => ({ ...listed, status: 'exhausted' }));
    const routes: StubRoutes = {
      'GET /v2/queues': ({ path }) =>
        path.includes('with_count') ? json({ queues: [], count: 57 }) : queues(['a', 'b'], 'm1'),
      'GET /v2/queues/a/subscriptions': json({ subscriptions: [subscription], links: [] }),
      'GET /v2/queues/a/deliveries': json({ deliveries, links: MORE }),
      'GET /v2/queues/a/statistics': json({ enabled: true, total: { messages: 1234 } }),
      'GET /v2/queues/b': json({}),
      'GET /v2/queues/b/subscriptions': FORBIDDEN,
      'GET /v2/queues/b/deliveries': page(),
      'GET /v2/queues/b/statistics': json({ enabled: false, total: { messages: 0 } }),
    };
    expect(await runOn(routes, 'queue list --limit 2')).toMatchObject({
      status: 0,
      stdout:
        'Queue  State  Subscriptions  Undelivered  Messages (24 h)  Metadata\n' +
        'a                         1         100+             1234  {"of":"a"}\n' +
        'b                                      0                   {"of":"b"}\n',
      stderr: '2 of 57 shown: raise --limit for more.\n',
    });
  });

  it('sends a token instead of a signature if POSTHASTE_TOKEN is set', async () => {
    const env = { POSTHASTE_TOKEN: 'a.b.c' };
    const { stdout, requests } = await runOn({ 'GET /v2/queues': queues([]) }, 'queue list', { env });
    expect(stdout).toBe('No queue yet. Create one with npm run -s posthaste -- queue create <queue>\n');
    expect(requests[0]?.headers.authorization).toBe('Bearer a.b.c');
  });

  it('escapes control characters in metadata', async () => {
    const name = 'q\u001b[2J\u009b31m\u202e\r\n';
    const list = { 'GET /v2/queues': json({ queues: [{ name: 'q', metadata: { name } }], links: [] }) };
    const { stdout, lines } = await runOn(list, 'queue list --json');
    const shown = stdout + (await runOn(list, 'queue list')).stdout;
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e]/u);
    expect(lines).toEqual([{ name: 'q', metadata: { name } }]);
  });
});

describe('posthaste queue', () => {
  it('shows the metadata, and reports a missing queue in one message', async () => {
    const api = await stubApi({ [`GET ${QUEUE}`]: json({ _retry_policy: {} }) });
    expect((await api.run('queue show orders --json')).stdout).toBe('{"_retry_policy":{}}\n');
    expect(await api.run('queue show others')).toEqual({
      status: 1,
      stdout: '',
      stderr:
        'posthaste: There is no queue others. To see all queues, run npm run -s posthaste -- queue list\n',
    });
  });

  it.each([
    [
      'the source text of metadata and policy',
      ['--metadata', '{"size": 12345678901234567890 }', '--policy', '{"maximum_delay": 60}'],
      '{"size": 12345678901234567890,"_retry_policy":{"maximum_delay": 60}}',
    ],
    ['the name of a preset, which the API expands', ['--policy', 'patient'], '{"_retry_policy":"patient"}'],
  ])('creates a queue with %s', async (_, options, body) => {
    const routes = { ...noQueue, [`PUT ${QUEUE}`]: { status: 201, body: '' } };
    const { url, requests, ...run } = await runOn(routes, ['queue', 'create', 'orders', ...options]);
    expect(run).toMatchObject({ status: 0, stdout: 'Created queue orders.\n', stderr: `→ ${url}\n` });
    expect(requests.at(-1)).toMatchObject({ method: 'PUT', body });
  });

  it('says which presets there are', async () => {
    const { status, stderr } = await runOn({}, 'queue create orders --policy patiant');
    expect(status).toBe(2);
    expect(stderr).toContain(
      'There is no preset patiant. Presets: quick, default, standard-webhooks, patient.',
    );
  });

  it('does not replace an existing queue', async () => {
    const { status, stderr, requests, url } = await runOn({}, 'queue create orders');
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `→ ${url}\nposthaste: Queue orders already exists. To change it, use npm run -s posthaste -- queue set\n`,
    });
    expect(requests.map(({ method }) => method)).toEqual(['GET']);
  });

  it('sets and removes members by a JSON patch', async () => {
    const options = '--policy {} --set a/b~c=1.50 --set owner="b" --unset note --json';
    const { stdout, requests } = await runOn(
      { [`PATCH ${QUEUE}`]: json({ owner: 'b' }) },
      `queue set orders ${options}`,
    );
    expect(stdout).toBe('{"owner":"b"}\n');
    expect(requests[0]?.headers['content-type']).toBe('application/json-patch+json');
    expect(requests[0]?.body).toBe(
      '[{"op":"add","path":"/metadata/_retry_policy","value":{}},' +
        '{"op":"add","path":"/metadata/a~1b~0c","value":1.50},' +
        '{"op":"add","path":"/metadata/owner","value":"b"},' +
        '{"op":"remove","path":"/metadata/note"}]',
    );
  });
});

describe('a failed API request', () => {
  const fields = [{ field: '_retry_policy.maximum_delay', message: 'must not be under minimum_delay' }];
  const refusing = {
    ...noQueue,
    [`PUT ${QUEUE}`]: refusal(400, 'invalid_retry_policy', 'all of it', fields),
  };

  it('is reported with the faulty fields, status 1 and no stack trace', async () => {
    const { status, stdout, stderr, url } = await runOn(refusing, 'queue create orders');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr.split('\n')).toEqual([
      `→ ${url}`,
      'posthaste: PUT /v2/queues/orders was refused (400 invalid_retry_policy):',
      '  _retry_policy.maximum_delay must not be under minimum_delay',
      '',
    ]);
  });

  it('is one line of JSON on stderr with --json', async () => {
    const { status, stdout, stderr } = await runOn(refusing, 'queue create orders --json');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    const error = { status: 400, code: 'invalid_retry_policy', message: 'all of it', fields };
    expect(jsonLines(stderr)).toEqual([{ error }]);
  });

  it('is reported as a version mismatch if the response has an unexpected form', async () => {
    const { status, stderr } = await runOn(
      { 'GET /v2/queues': json({ queues: [{ title: 'a' }] }) },
      'queue list',
    );
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^posthaste: The response to GET \/v2\/queues has an unexpected form .* the same version\.\n$/,
    );
  });

  it('is repeated after a transient error', async () => {
    const busy = json({ message: 'busy' }, 503);
    const routes: StubRoutes = { 'GET /v2/queues': (_, index) => (index < 2 ? busy : queues(['a'])) };
    const { status, requests } = await runOn(routes, 'queue list --json');
    expect({ status, asked: requests.length }).toEqual({ status: 0, asked: 3 });
  });

  it('is reported with the address if the API does not respond', async () => {
    const { run, close } = await stubApi();
    await close();
    const { status, stderr } = await run('queue delete orders');
    expect(status).toBe(1);
    expect(stderr).toMatch(/\nposthaste: The API of .* does not respond at http.*: .*ECONNREFUSED.*\.\n$/);
  });
});

describe('a queue', () => {
  it.each([
    ['books oder', 'orders'],
    ['deliveries list oder', 'orders'],
    ['message show bill m1', 'bills-of-last-year'],
    ['recover start oder --since 1h', 'orders'],
    ['publish oder --data 1', 'orders'],
    ['publish oder', 'orders'],
    ['queue delete oder', 'orders'],
  ])('is an error with the name that was meant, if it is missing: %s', async (line, meant) => {
    const routes = { 'GET /v2/queues': queues(['orders', 'bills-of-last-year']) };
    const { status, stdout, stderr, requests } = await runOn(routes, line, { input: '{"data":1}\n' });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    const missing = line.startsWith('message') ? 'bill' : 'oder';
    expect(stderr).toContain(`There is no queue ${missing}. Did you mean ${meant}?\n`);
    expect(stderr.includes('--create')).toBe(line.startsWith('publish'));
    const changes = requests.filter(({ method }) => method !== 'GET').map(({ path }) => path);
    expect(changes.filter((path) => !path.endsWith('/recoveries'))).toEqual([]);
  });

  it('is an error with both names that are near, because one may be mistyped itself', async () => {
    const routes = { 'GET /v2/queues': queues(['bills', 'odrers', 'orders', 'odrers-2']) };
    const { stderr } = await runOn(routes, 'books oders');
    expect(stderr).toContain('There is no queue oders. Did you mean odrers or orders?\n');
  });

  it('is named without a suggestion to a caller who may not list queues', async () => {
    const { stderr } = await runOn({ 'GET /v2/queues': FORBIDDEN }, 'books oder');
    expect(stderr).toContain('There is no queue oder. To see all queues,');
  });

  const CREATE = 'subscription create oder https://example.com/hook';
  const CREATED = 'POST /v2/queues/oder/subscriptions';

  it('is created with a word on it for a new subscription, so that a mistyped name is noticed', async () => {
    const created = json({ subscription_id: 's1', secret: 'whsec_x' }, 201);
    const { status, stderr } = await runOn({ [CREATED]: created }, CREATE);
    expect(status).toBe(0);
    expect(stderr).toContain('There was no queue oder: it was created.');
  });

  const failed = [{ line: 1, error: { code: 'validation', message: 'no object' } }];

  it.each([
    [CREATE, CREATED, refusal(400, 'validation', 'no https')],
    ['subscription import oder -', 'POST /v2/queues/oder/import', json({ subscriptions: [], failed })],
  ])('is not said to be created if nothing was: %s', async (line, route, answer) => {
    const { status, stderr } = await runOn({ [route]: answer }, line, { input: '{}\n' });
    expect(status).toBe(1);
    expect(stderr).toMatch(/refused/);
    expect(stderr).not.toContain('There was no queue');
  });

  it('leaves an error as it is if the queue exists', async () => {
    const { stderr } = await runOn({}, 'message show orders m1');
    expect(stderr).toContain('was refused (404 not_found)');
  });
});

const UNTIL = '2026-12-06T12:00:00.000Z';
const RESTORABLE = { status: 204, body: '', headers: { 'restorable-until': UNTIL } };

describe('posthaste queue restore', () => {
  const RESTORE = `POST ${QUEUE}/restore`;
  const archived = { name: 'orders', deletedAt: '2026-11-29T12:00:00.000Z', restorableUntil: UNTIL };

  it('lists what there is to restore, and until when', async () => {
    const routes = { 'GET /v2/archived-queues': json({ queues: [archived], links: [] }) };
    const { stdout } = await runOn(routes, 'queue restore');
    const [times, until] = [clockTime(archived.deletedAt), clockTime(UNTIL)];
    expect(stdout).toContain(`orders  ${times}  ${until}\n`);
    expect((await runOn(routes, 'queue restore --json')).lines).toEqual([archived]);
    const none = { 'GET /v2/archived-queues': json({ queues: [], links: [] }) };
    expect((await runOn(none, 'queue restore')).stdout).toBe('No deleted queue can be restored.\n');
  });

  it.each([
    ['restored', 200, 'Restored queue orders with its subscriptions.'],
    ['restoring', 202, 'Queue orders has many subscriptions. It appears once all are back: '],
  ])('says that the queue is %s, and how to send what was cancelled', async (state, status, text) => {
    const { stdout, requests } = await runOn(
      { [RESTORE]: json({ name: 'orders', state }, status) },
      'queue restore orders',
    );
    expect(stdout).toContain(text);
    expect(stdout).toContain('recover start orders --since 7d\n');
    expect(requests.at(-1)?.body).toBe('{}');
  });

  it('gives the time of a deletion to the end of its second', async () => {
    const routes = { [RESTORE]: json({ name: 'orders', state: 'restored' }) };
    const { requests } = await runOn(routes, ['queue', 'restore', 'orders', '--until', archived.deletedAt]);
    expect(requests.at(-1)?.body).toBe('{"until":"2026-11-29T12:00:00.999Z"}');
  });

  it('says what to do if the queue exists, and what the API says if there is nothing to restore', async () => {
    const taken = { [RESTORE]: refusal(409, 'conflict', 'exists') };
    const { status, stderr } = await runOn(taken, 'queue restore orders');
    expect(status).toBe(1);
    expect(stderr).toMatch(/Queue orders exists\. .* queue delete orders --now\n$/);
    const missing = { ...noQueue, [RESTORE]: refusal(404, 'not_found', 'there is no deleted queue') };
    expect((await runOn(missing, 'queue restore orders')).stderr).toContain('there is no deleted queue');
    const busy = { ...noQueue, [RESTORE]: refusal(409, 'conflict', 'still being deleted') };
    expect((await runOn(busy, 'queue restore orders')).stderr).toContain('still being deleted');
  });
});

describe('posthaste queue delete', () => {
  it.each([
    ['', RESTORABLE, `It can be restored until ${clockTime(UNTIL)}: `, ''],
    [' --now', NO_CONTENT, 'It cannot be restored.', '?now=true'],
  ])('says whether it can be undone: %s', async (flags, answer, text, search) => {
    const { stdout, requests } = await runOn(
      { [`DELETE ${QUEUE}`]: answer },
      `queue delete orders --yes${flags}`,
    );
    expect(stdout).toContain(`Deleted queue orders. ${text}`);
    expect(stdout.includes('queue restore orders')).toBe(flags === '');
    expect(requests.at(-1)?.path).toBe(`${QUEUE}${search}`);
  });

  const deleting = async (subscriptions: object[], options: string, terminal?: RunOptions) => {
    const routes = {
      [`GET ${QUEUE}/subscriptions`]: json({ subscriptions, links: [] }),
      [`DELETE ${QUEUE}`]: NO_CONTENT,
    };
    const { requests, ...run } = await runOn(routes, `queue delete orders${options}`, terminal);
    return { ...run, isDeleted: requests.some(({ method }) => method === 'DELETE') };
  };

  it.each([
    ['at once if it has no subscriptions', [], ' --json', { status: 0, stdout: '{"queue":"orders"}\n' }],
    ['with --yes', [subscription], ' --yes', { status: 0 }],
    ['not without a terminal to ask on', [subscription], '', { status: 2 }],
  ])('is deleted %s', async (_, subscriptions, options, expected) => {
    const run = await deleting(subscriptions, options);
    expect(run).toMatchObject({ ...expected, isDeleted: expected.status === 0 });
    const asked = 'error: queue orders has 1 subscription; add --yes to delete them too';
    expect(run.stderr.includes(asked)).toBe(expected.status === 2);
  });

  it.each([
    ['orders', 0],
    ['yes', 1],
    [undefined, 1],
  ])('asks for its name on a terminal, and is answered %s', async (answer, status) => {
    const two = [subscription, { ...subscription, id: 's2' }];
    const run = await deleting(two, '', answering(answer, 'Type its name'));
    expect(run.stderr).toContain('Queue orders has 2 subscriptions. Type its name to delete them too: ');
    expect(run).toMatchObject({ status, isDeleted: status === 0 });
  });
});
