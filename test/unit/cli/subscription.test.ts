import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { clockTime } from '../../../cli/output/words.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { AT, attempt, delivered, detail, ID, listed, page, pending, subscription } from './delivery-views.ts';
import { answering, jsonLines } from './run-command.ts';
import { json, refusal, stubApi, type StubApi } from './stub-api.ts';

const LIST = '/v2/queues/orders/subscriptions';
const ONE = `${LIST}/${ID}`;
const { name: _, ...unnamed } = subscription;
const view = { ...unnamed, options: { post_headers: { authorization: '***' }, raw_delivery: true } };

describe('posthaste subscription', () => {
  it('subscribes with all given options, and prints the signing secret once', async () => {
    const created = { subscription_id: 'created', secret: 'whsec_abc' };
    const api = await stubApi({ [`POST ${LIST}`]: () => json(created, 201) });
    const flags = '--ttl 1h --raw --event-type a --event-type b --attempt-timeout 5 --max-per-second 0.5';
    const texts = {
      name: 'ACME',
      policy: '{"maximum_delay": 60}',
      header: 'X-Team: a:b',
      filter: '{"n": [1.0]}',
    };
    const run = await api.run([
      ...['subscription', 'create', 'orders', 'https://example.com/hook', '--retry-throttled'],
      ...flags.split(' '),
      ...Object.entries(texts).flatMap(([option, value]) => [`--${option}`, value]),
    ]);
    expect(run.stdout).toBe(
      'Created subscription created.\nSigning secret (save it now, it is not shown again): whsec_abc\n',
    );
    expect(api.requests.at(-1)?.body).toBe(
      '{"subscriber":"https://example.com/hook","name":"ACME","ttl":3600,"options":{"_retry_policy":{"maximum_delay": 60},' +
        '"post_headers":{"X-Team":"a:b"},"raw_delivery":true,"attempt_timeout":5,"max_per_second":0.5,"retry_throttled":true,"event_types":["a","b"],"filter":{"n": [1.0]}}}',
    );
  });

  it('reports a confirmation request that could not be sent, after creation and in the list', async () => {
    const created = { subscription_id: 'created', secret: 'whsec_abc', confirmation: 'owed' };
    const waiting = { ...view, confirmed: false, confirmation: 'asked' };
    const owed = { ...waiting, confirmation: 'owed' };
    const api = await stubApi({
      [`POST ${LIST}`]: () => json(created, 201),
      [`GET ${LIST}`]: () => json({ subscriptions: [waiting, owed], links: [] }),
    });
    const { stdout } = await api.run(['subscription', 'create', 'orders', 'https://example.com/hook']);
    expect(stdout).toContain('confirmation request could not be sent');
    expect((await api.run(['subscription', 'list', 'orders'])).stdout).toMatch(
      /unconfirmed {2,}https.*\n.*unconfirmed \(request not sent\) /,
    );
  });

  it('lists subscriptions with their state', async () => {
    const disabled = {
      ...view,
      id: 's2',
      name: 'ACME',
      disabled: { reason: 'gone', at: '2026-01-01T00:00:00.000Z' },
    };
    const api = await stubApi({
      [`GET ${LIST}`]: () => json({ subscriptions: [view, disabled], links: [] }),
    });
    expect((await api.run(['subscription', 'list', 'orders'])).stdout).toBe(
      'Subscription  Name  State            Subscriber\n' +
        '5b0c0f1e            enabled          https://example.com/hook\n' +
        's2            ACME  disabled (gone)  https://example.com/hook\n',
    );
    expect(jsonLines((await api.run(['subscription', 'list', 'orders', '--json'])).stdout)).toEqual([
      view,
      disabled,
    ]);
  });

  it('changes one option and sends the other options unchanged', async () => {
    const api = await stubApi({ [`GET ${ONE}`]: () => json(view), [`PATCH ${ONE}`]: () => json(view) });
    const run = await api.run(['subscription', 'update', 'orders', ID, '--policy', '{}', '--json']);
    expect(jsonLines(run.stdout)).toEqual([view]);
    expect(JSON.parse(api.requests.at(-1)?.body ?? '')).toEqual({
      options: { ...view.options, _retry_policy: {} },
    });
  });

  it.each([
    ['sets', 'ACME', '{"name":"ACME"}'],
    ['removes', '', '{"name":null}'],
  ])('%s a name', async (_, name, body) => {
    const api = await stubApi({ [`PATCH ${ONE}`]: () => json({ ...view, ...(name && { name }) }) });
    const { stdout } = await api.run(['subscription', 'update', 'orders', ID, '--name', name]);
    expect(/^Name +ACME$/m.test(stdout)).toBe(name === 'ACME');
    expect(api.requests.map((request) => request.body)).toEqual([body]);
  });

  it('replaces all options without reading the current ones', async () => {
    const api = await stubApi({ [`PATCH ${ONE}`]: () => json(view) });
    await api.run([
      'subscription',
      'update',
      'orders',
      ID,
      '--options',
      '{}',
      '--url',
      'https://example.com/b',
    ]);
    expect(api.requests.map(({ body }) => body)).toEqual([
      '{"subscriber":"https://example.com/b","options":{}}',
    ]);
  });

  it.each([
    ['a new secret, and prints it', [], '{"subscriber":"https://other.example/"}', 'whsec_new'],
    [
      'the same secret',
      ['--keep-secret'],
      '{"subscriber":"https://other.example/","secret":"keep"}',
      undefined,
    ],
  ])('moves a subscription to another host with %s', async (_name, options, body, secret) => {
    const api = await stubApi({ [`PATCH ${ONE}`]: () => json({ ...view, ...(secret && { secret }) }) });
    const args = ['subscription', 'update', 'orders', ID, '--url', 'https://other.example/', ...options];
    const { stdout } = await api.run(args);
    expect(stdout.includes('New signing secret (save it now, it is not shown again): whsec_new\n')).toBe(
      secret !== undefined,
    );
    expect(api.requests.map((request) => request.body)).toEqual([body]);
  });

  it('disables a subscription, shows how to enable it, and then how to recover what it missed', async () => {
    const disabled = { ...view, disabled: { reason: 'gone', at: '2026-01-01T00:00:00.000Z' } };
    const api = await stubApi({
      [`POST ${ONE}/disable`]: () => json(disabled),
      [`GET ${ONE}`]: () => json(disabled),
      'GET /v2/queues/orders/deliveries': () => json({ deliveries: [], links: [] }),
      [`POST ${ONE}/enable`]: () => json(view),
    });
    const said = async (words: string) => (await api.run(['subscription', words, 'orders', ID])).stdout;
    expect(await said('disable')).toBe(`Disabled subscription ${ID}, https://example.com/hook.\n`);
    expect(await said('show')).toMatch(/\nTo enable it: .* subscription enable orders 5b0c0f1e\n$/);
    expect(await said('enable')).toMatch(
      /^Enabled .*\nTo recover .*: .* recover start orders --subscription 5b0c0f1e --since 1d\n$/,
    );
  });

  it('rotates a secret to one from a file, which other users cannot see', async () => {
    const api = await stubApi({ [`POST ${ONE}/secret/rotate`]: () => json({ secret: 'whsec_new' }) });
    const args = [
      'subscription',
      'rotate-secret',
      'orders',
      ID,
      '--secret-file',
      '-',
      '--grace',
      '60',
      '--json',
    ];
    expect((await api.run(args, { input: 'whsec_new\n' })).stdout).toBe('{"secret":"whsec_new"}\n');
    expect(api.requests[0]?.body).toBe('{"secret":"whsec_new","graceSeconds":60}');
  });

  it.each([
    ['redacted', [], 'GET', '/v2/queues/orders/export'],
    ['with credentials', ['--with-credentials'], 'POST', '/v2/credentials/orders'],
  ])('prints all pages of an export, %s', async (_name, flags, method, path) => {
    const api = await stubApi({
      [`${method} ${path}`]: ({ path: asked }) =>
        asked.includes('marker=m1')
          ? { body: '{"subscriber":"b"}\n' }
          : {
              headers: { link: `<${path}?marker=m1>; rel="next"` },
              body: '{"subscriber":"a"}\n',
            },
    });
    const { stdout } = await api.run(['subscription', 'export', 'orders', ...flags]);
    expect(stdout).toBe('{"subscriber":"a"}\n{"subscriber":"b"}\n');
  });

  describe('that is to be deleted', () => {
    const deleting = () =>
      stubApi({ [`GET ${ONE}`]: () => json(view), [`DELETE ${ONE}`]: () => ({ status: 204, body: '' }) });
    const DELETE = ['subscription', 'delete', 'orders', ID];
    const deletions = ({ requests }: StubApi) => requests.filter(({ method }) => method === 'DELETE').length;

    it('is deleted without a question by --yes', async () => {
      const api = await deleting();
      const { stdout } = await api.run([...DELETE, '--yes', '--json']);
      expect(stdout).toBe(`{"queue":"orders","subscriptionId":"${ID}"}\n`);
      expect(deletions(api)).toBe(1);
    });

    it('stays without a terminal to ask on', async () => {
      const api = await deleting();
      const { status, stderr } = await api.run(DELETE);
      expect({ status, deletions: deletions(api) }).toEqual({ status: 2, deletions: 0 });
      expect(stderr).toContain(`to delete subscription ${ID}, https://example.com/hook, add --yes`);
    });

    it.each([
      ['y', 0, 1],
      ['', 1, 0],
    ])('is deleted only after a yes: %j', async (answer, status, count) => {
      const api = await deleting();
      const run = await api.run(DELETE, answering(answer));
      expect({ status: run.status, deletions: deletions(api) }).toEqual({ status, deletions: count });
    });
  });
});

const LOCAL = clockTime(AT);
const DELIVERIES = '/v2/queues/orders/deliveries';
const noDeliveries = { [`GET ${DELIVERIES}`]: () => page() };

describe('posthaste subscription show', () => {
  it.each([
    [
      { reason: 'circuit_open' },
      `enabled, one request at a time, the subscriber is or was down since ${LOCAL}`,
    ],
    [
      { reason: 'receiver_throttled', perSecond: 4.25 },
      `enabled, at most 4.25 requests a second since a refusal at ${LOCAL}`,
    ],
  ])('says in local time what back-pressure means, and how to end it: %j', async (pressure, state) => {
    const slowed = {
      ...subscription,
      failing: { since: AT, failures: 3 },
      backPressure: { since: AT, ...pressure },
    };
    const api = await stubApi({ [`GET ${ONE}`]: () => json(slowed), ...noDeliveries });
    const { stdout } = await api.run(['subscription', 'show', 'orders', ID]);
    expect(stdout).toMatch(new RegExp(`State +${state}\n`));
    expect(stdout).toMatch(new RegExp(`Failing since +${LOCAL}, 3 counted failures\n`));
    expect(stdout).toMatch(/\nIf it works again: .* subscription enable orders 5b0c0f1e\n$/);
  });

  const open = (count: number, waiting?: string) =>
    Array.from({ length: count }, (_, index) => ({ ...listed, messageId: `${waiting}-${index}`, waiting }));

  it.each([
    [
      'all that wait',
      [
        ...open(1, 'rate_limited'),
        ...open(2, 'circuit_open'),
        ...open(3),
        { ...listed, status: 'exhausted' },
        ...open(4, 'receiver_throttled'),
        ...open(5, 'pull'),
      ],
      [],
      '15 deliveries: 1 for the rate limit of the subscription, 2 because the subscriber is or was down, 3 for the next attempt, 4 because the subscriber throttles, 5 until it is received',
    ],
    [
      'the newest of many',
      open(100, 'circuit_open'),
      [{ rel: 'next', href: '?marker=2' }],
      'at least 100 deliveries: 100 because the subscriber is or was down',
    ],
  ])('says how many deliveries wait and why, by one request: %s', async (_, deliveries, links, text) => {
    const api = await stubApi({
      [`GET ${ONE}`]: () => json(subscription),
      [`GET ${DELIVERIES}`]: () => json({ deliveries, links }),
    });
    const { stdout } = await api.run(['subscription', 'show', 'orders', ID]);
    expect(stdout).toMatch(new RegExp(`\\nWaiting +${text}\\n`));
    const asked = api.requests.filter((request) => request.path.startsWith(DELIVERIES));
    expect(asked.map((request) => request.path)).toEqual([`${DELIVERIES}?subscription=${ID}&limit=100`]);
  });

  it.each([
    ['none waits', () => json({ deliveries: [{ ...listed, status: 'exhausted' }], links: [] })],
    ['the caller may not list deliveries', () => json({ message: 'Forbidden' }, 403)],
  ])('says nothing of deliveries where %s', async (_, answer) => {
    const api = await stubApi({
      [`GET ${ONE}`]: () => json(subscription),
      [`GET ${DELIVERIES}`]: answer,
    });
    const { status, stdout, stderr } = await api.run(['subscription', 'show', 'orders', ID]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).not.toContain('Waiting');
  });

  it('shows in local time when it was disabled', async () => {
    const disabled = { ...subscription, disabled: { reason: 'gone', at: AT } };
    const api = await stubApi({ [`GET ${ONE}`]: () => json(disabled), ...noDeliveries });
    const { stdout } = await api.run(['subscription', 'show', 'orders', ID]);
    expect(stdout).toMatch(new RegExp(`State +disabled \\(gone\\)\nDisabled at +${LOCAL}\n`));
    expect(stdout).not.toContain('If it works again');
  });
});

describe('posthaste subscription list', () => {
  it('lists which subscriptions are slowed, each kind by another word', async () => {
    const slowed = [
      { reason: 'circuit_open', since: AT },
      { reason: 'circuit_open', since: AT, perSecond: 4 },
      { reason: 'receiver_throttled', since: AT, perSecond: 4 },
    ].map((backPressure) => ({ ...subscription, backPressure }));
    const api = await stubApi({
      'GET /v2/queues/orders/subscriptions': () =>
        json({ subscriptions: [...slowed, subscription], links: [] }),
    });
    const { stdout } = await api.run(['subscription', 'list', 'orders']);
    expect(stdout.match(/circuit open|slowed|throttled|enabled/g)).toEqual([
      'circuit open',
      'slowed',
      'throttled',
      'enabled',
    ]);
  });
});

describe('posthaste subscription rotate-secret', () => {
  it('says in local time how long the old secret is valid', async () => {
    const api = await stubApi({ [`POST ${ONE}/secret/rotate`]: () => json({ previousExpiresAt: AT }) });
    const { stdout } = await api.run(['subscription', 'rotate-secret', 'orders', ID]);
    expect(stdout).toBe(`The old secret stays valid until ${LOCAL}.\n`);
  });
});

describe('posthaste subscription test', () => {
  it('fails if the subscriber rejects the test message, and shows its response', async () => {
    const refused = { ...attempt, outcome: 'rejected', statusCode: 400, snippet: 'go \u001b[2J away' };
    const delivery = { ...pending, status: 'rejected', reason: 'http_400', attempts: [refused] };
    const api = await stubApi({ [`POST ${ONE}/test`]: () => json({ delivery }) });
    const args = ['subscription', 'test', 'orders', ID, '--data', '{"n": 1.0}'];
    const { status, stdout } = await api.run(args);
    expect(status).toBe(1);
    expect(stdout).toContain('Status        rejected (http_400)\n');
    expect(stdout).toContain('400 "go \\u001b[2J away"');
    expect(api.requests[0]?.body).toBe('{"data":{"n": 1.0}}');
  });

  it('polls for the first attempt of a test if the API does not wait for it', async () => {
    let looks = 0;
    const api = await stubApi({
      [`POST ${ONE}/test`]: () => json({ delivery: pending }, 202),
      [`GET /v2/queues/orders/messages/m1/deliveries/${ID}`]: () => {
        looks += 1;
        if (looks === 1)
          return json({ error: { code: 'not_found', message: 'there is no such delivery' } }, 404);
        return detail(delivered);
      },
    });
    const { status, stdout } = await api.run(['subscription', 'test', 'orders', ID, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'delivered',
      attempts: [{ number: 1 }, { number: 2 }],
    });
    expect(status).toBe(0);
  });

  it('does not wait for the first attempt of a test that waits to be received', async () => {
    const nextAttempt = { number: 1, phase: 'initial', dueAt: AT, by: 'pull', waiting: 'pull' };
    const delivery = { ...pending, nextAttemptAt: AT, nextAttempt };
    const api = await stubApi({ [`POST ${ONE}/test`]: () => json({ delivery }, 202) });
    expect((await api.run(['subscription', 'test', 'orders', ID])).stdout).toContain(
      'waits until it is received',
    );
    expect(api.requests).toHaveLength(1);
  });
});

describe('posthaste subscription', () => {
  it('gives a pull subscription a token, and says how long the previous one is valid', async () => {
    const previousExpiresAt = '2026-11-22T12:00:00.000Z';
    const api = await stubApi({
      [`POST ${ONE}/pull-token`]: () => json({ token: 'phpull_new', previousExpiresAt }),
    });
    const args = ['subscription', 'pull-token', 'orders', ID, '--grace', '60'];
    expect((await api.run(args)).stdout).toBe(
      `Token (save it now, it is not shown again): phpull_new\nThe previous token stays valid until ${clockTime(previousExpiresAt)}.\n`,
    );
    expect(api.requests[0]?.body).toBe('{"graceSeconds":60}');
  });
});

describe('posthaste subscription --auth-file', () => {
  it('gives and changes credentials from a file, and shows what is not secret of them', async () => {
    const auth = { type: 'basic', username: 'ada', password: '***', certificate: '-----BEGIN' };
    const shown = { ...view, certificateExpiresAt: '2027-01-01T00:00:00.000Z', options: { auth } };
    const api = await stubApi({
      [`POST ${LIST}`]: () => json({ subscription_id: 'created' }, 201),
      [`GET ${ONE}`]: () => json(view),
      [`PATCH ${ONE}`]: () => json(shown),
    });
    const given = '{"type": "basic", "username": "ada", "password": "p"}\n';
    const create = ['subscription', 'create', 'orders', 'https://example.com/', '--auth-file', '-'];
    await api.run(create, { input: given });
    const update = ['subscription', 'update', 'orders', ID, '--auth-file', '-'];
    const { stdout } = await api.run(update, { input: given });
    const options = { auth: JSON.parse(given) as unknown };
    const bodies = api.requests.flatMap(({ body }) => (body === '' ? [] : [JSON.parse(body) as unknown]));
    expect(bodies).toEqual([
      { subscriber: 'https://example.com/', options },
      { options: { ...view.options, ...options } },
    ]);
    expect(stdout).toMatch(/^Authentication +basic, username: ada, password: \*\*\*$/m);
    expect(stdout).toContain(`Certificate expires  ${clockTime('2027-01-01T00:00:00.000Z')}\n`);
    expect(stdout).not.toContain('BEGIN');
  });

  it('does not quote a file with credentials that it cannot read', async () => {
    const api = await stubApi({});
    const create = ['subscription', 'create', 'orders', 'https://example.com/', '--auth-file', '-'];
    for (const input of ['{"password": secret}', '["secret"]']) {
      const { status, stderr } = await api.run(create, { input });
      expect(status).toBe(1);
      expect(stderr).not.toContain('secret');
      expect(stderr).toContain('must contain a JSON object');
    }
    expect(api.requests).toEqual([]);
  });
});

const PATH = 'POST /v2/queues/orders/import';
const IMPORT = ['subscription', 'import', 'orders'];

const error = { code: 'conflict', message: 'is there already' };

const inputOf = (count: number): string =>
  Array.from({ length: count }, (_, n) => `{"subscriber":"https://example.com/${n}"}`).join('\n');

/** Each request imports its first line; its second is refused, and its third is unchanged. */
const answered = (index: number) =>
  json({
    imported: 1,
    replaced: 0,
    unchanged: 1,
    subscriptions: [
      { line: 1, result: 'imported', subscription_id: `new-${index}`, secret: `whsec_${index}` },
      { line: 3, result: 'unchanged', subscription_id: `there-${index}` },
    ],
    failed: [{ line: 2, error }],
  });

const LINES = [
  { line: 1, result: 'imported', subscription_id: 'new-0', secret: 'whsec_0' },
  { line: 2, error },
  { line: 3, result: 'unchanged', subscription_id: 'there-0' },
  { line: 501, result: 'imported', subscription_id: 'new-1', secret: 'whsec_1' },
  { line: 502, error },
  { line: 503, result: 'unchanged', subscription_id: 'there-1' },
];

describe('posthaste subscription import', () => {
  let output: string;
  beforeEach(() => (output = join(temporaryFolder(), 'results.jsonl')));

  it('imports any number of lines, 500 per request, and prints the result of each with its line number', async () => {
    const api = await stubApi({ [PATH]: (_, index) => answered(index) });
    const { status, stdout } = await api.run([...IMPORT, '--json'], { input: inputOf(700) });
    expect(status).toBe(1);
    expect(jsonLines(stdout)).toEqual(LINES);
    expect(api.requests.slice(1).map(({ body }) => body.split('\n').length)).toEqual([500, 200]);
  });

  it('prints the secrets, the refused lines and the counts as text', async () => {
    const api = await stubApi({ [PATH]: (_, index) => answered(index) });
    const { status, stdout, stderr } = await api.run(IMPORT, { input: inputOf(700) });
    expect(status).toBe(1);
    expect(stdout).toBe(
      'Line 1: subscription new-0, secret whsec_0\n' +
        'Line 501: subscription new-1, secret whsec_1\n' +
        'Queue orders: 2 imported, 0 replaced, 2 unchanged, 2 refused.\n',
    );
    expect(stderr).toBe(
      `→ ${api.url}\nLine 2 was refused: is there already\nLine 502 was refused: is there already\n`,
    );
  });

  it('writes the results to a file that only its owner can read, and then prints no secret', async () => {
    const api = await stubApi({ [PATH]: (_, index) => answered(index) });
    const { stdout, stderr } = await api.run([...IMPORT, '--output', output], { input: inputOf(700) });
    expect(jsonLines(readFileSync(output, 'utf8'))).toEqual(LINES);
    expect(statSync(output).mode & 0o777).toBe(0o600);
    expect(stdout).toBe('Queue orders: 2 imported, 0 replaced, 2 unchanged, 2 refused.\n');
    expect(stderr).not.toContain('whsec');
    rmSync(output);
    const again = await api.run([...IMPORT, '--output', output, '--json'], { input: inputOf(3) });
    expect(jsonLines(again.stdout)).toEqual([{ imported: 1, replaced: 0, unchanged: 1, failed: 1 }]);
  });

  it('sends no request if the output file exists, because its secrets would be lost', async () => {
    writeFileSync(output, 'secrets of an earlier import');
    const api = await stubApi({ [PATH]: (_, index) => answered(index) });
    const { status, stderr } = await api.run([...IMPORT, '--output', output], { input: inputOf(1) });
    expect(status).toBe(1);
    expect(stderr).toContain('cannot be written');
    expect(readFileSync(output, 'utf8')).toBe('secrets of an earlier import');
    expect(api.requests).toEqual([]);
  });

  it('keeps the results of earlier requests if one fails, and reports the line at which it stopped', async () => {
    const api = await stubApi({
      [PATH]: (_, index) => (index === 0 ? answered(0) : refusal(409, 'conflict', 'is being deleted')),
    });
    const { status, stderr } = await api.run([...IMPORT, '--output', output], { input: inputOf(1200) });
    expect(status).toBe(1);
    expect(jsonLines(readFileSync(output, 'utf8'))).toEqual(LINES.slice(0, 3));
    expect(stderr).toContain('The import stopped at line 501');
    expect(stderr).toContain('is being deleted');
    expect(api.requests.filter(({ method }) => method === 'POST')).toHaveLength(2);
  });

  it('leaves no empty output file if nothing was imported', async () => {
    const api = await stubApi({ [PATH]: () => refusal(409, 'conflict', 'is being deleted') });
    await api.run([...IMPORT, '--output', output], { input: inputOf(1) });
    expect(existsSync(output)).toBe(false);
  });

  it('completes the current request when interrupted, and starts no other', async () => {
    const begun = Promise.withResolvers<undefined>();
    const api = await stubApi({
      [PATH]: (_, index) => {
        begun.resolve(undefined);
        return answered(index);
      },
    });
    const { status, stdout } = await api.run([...IMPORT, '--json'], {
      onStart: ({ stdin, interrupt }) => {
        stdin.end(inputOf(700));
        void begun.promise.then(interrupt);
      },
    });
    expect(status).toBe(130);
    expect(jsonLines(stdout)).toEqual(LINES.slice(0, 3));
  });

  it('prints nothing from a response with an unexpected form', async () => {
    const api = await stubApi({
      [PATH]: () => json({ subscriptions: [{ line: 1, result: 'imported', secret: 'whsec_0' }], failed: [] }),
    });
    const { status, stdout, stderr } = await api.run(IMPORT, { input: inputOf(1) });
    expect(status).toBe(1);
    expect(stdout + stderr).not.toContain('whsec');
  });
});
